"""Whether a new configuration takes the incumbent's place: every candidate over its fresh seeds."""

from traindyno.analysis.rounds.adoption_remarks import stand_in_words
from traindyno.core.answers import AdoptAnswer, CandidateRow, Document
from traindyno.core.answers.rounds import AdoptVerdict
from traindyno.core.errors import UsageError
from traindyno.core.toml_text import toml_lines
from traindyno.core.units import count_of
from traindyno.report.charts.rounds_adopt import adopt_chart
from traindyno.report.charts.rounds_runs import values_text
from traindyno.report.charts.rounds_scores import Scores, adoption_scores
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Snippet, Table, Tone, View
from traindyno.report.views.rounds_arms import time_column
from traindyno.report.wording import count, duration, known, one_line

TONES: dict[AdoptVerdict, Tone] = {"adopt": "chosen", "keep": "plain", "undecided": "plain", "equivalent": "plain"}
SHEET_COLUMNS = (
    "round", "campaign", "metric", "higher_is_better", "candidate", "winner", "seeds", "failed", "mean", "sd", "gain",
    "gain_ci95_low", "gain_ci95_high", "p_value", "test", "verdict", "minimum_gain", "level", "search_score",
    "seconds", "changes",
)  # fmt: skip
CORRECTED = "p is corrected for the number of candidates by Holm's method; each 95 % interval is of its candidate alone"
METHOD = (
    "Every candidate and the incumbent were trained anew with the same seeds, none of which any run of the search had: "
    "a search picks its best run, and what it saw of it proves nothing. A run that diverged or failed counts as the "
    "worst score that any run had, or as guessing where that is worse. Candidates are tested against the incumbent by "
    "an exact permutation test, or by Welch's where there are too many seeds for that, corrected for their number by "
    "Holm's method. To be adopted a candidate must pass the test and gain at least the minimum gain, which is the "
    "price of a change, unless it fails less often than the incumbent, for then it gains more than the scores say. "
    "Asking again with more seeds is another look, and each look has its share of the error that all may make "
    "together."
)


def title(document: Document) -> str:
    answer: AdoptAnswer = document.answer
    question = f": {one_line(answer.question, 200)}" if answer.question else ""
    return f"Adoption in round {one_line(answer.round, 70)}{question}"


def headline(document: Document) -> Headline:
    answer: AdoptAnswer = document.answer
    scores = adoption_scores(answer)
    told = (
        ("candidate", one_line(answer.winner, 80) if answer.winner else None),
        ("gain", scores.difference(answer.gain) if known(answer.gain) else None),
        ("95 % interval", scores.difference_ends(answer.ci95)),
        ("p", f"{answer.p_value:.2g}" if answer.p_value is not None and known(answer.p_value) else None),
        ("minimum gain", scores.amount(answer.minimum_gain) if answer.minimum_gain else None),
        ("seeds", f"{count(answer.seeds)} of each"),
        ("needed", f"about {count(answer.needed_seeds)} seeds of each" if answer.needed_seeds else None),
        ("took", duration(answer.seconds)),
    )
    beside = tuple((name, words) for name, words in told if words)
    tone: Tone = "plain" if answer.verdict == "undecided" else "good"
    return Headline(value=answer.verdict, label=conclusion(document)[0], beside=beside, tone=tone)


def tables(document: Document) -> tuple[Table, ...]:
    answer: AdoptAnswer = document.answer
    scores = adoption_scores(answer)
    columns = (
        Column(heading="candidate", right=False),
        Column(heading=scores.name, unit=f"{scores.unit}± sd", narrow=f"{scores.name}\n({scores.unit}± sd)"),
        Column(heading="seeds"),
        Column(heading="gain", unit=f"{_points(scores)}95 %", narrow=f"gain\n({_points(scores)}95 %)"),
        Column(heading="p"),
        Column(heading="verdict", right=False),
        time_column(document),
    )
    rows = tuple(_row(scores, row) for row in answer.rows)
    least = f", minimum gain {scores.amount(answer.minimum_gain)}" if answer.minimum_gain else ""
    failed = tuple(
        f"{one_line(row.label, 80)}: {count_of(row.failed, 'failed run')}, taken as {stand_in_words(answer)}"
        for row in answer.rows
        if row.failed
    )
    return (
        Table(columns=columns, rows=rows, title=f"Fresh seeds{least}", legend=(*_corrected(answer), *failed)),
        *_changes(answer),
    )


def _corrected(answer: AdoptAnswer) -> tuple[str, ...]:
    return (CORRECTED,) if sum(known(row.p_value) for row in answer.rows) > 1 else ()


def _changes(answer: AdoptAnswer) -> tuple[Table, ...]:
    changing = [row for row in answer.rows if row.changes]
    columns = (Column(heading="candidate", right=False), Column(heading="what it changes", right=False))
    rows = tuple(Row(cells=(one_line(row.label, 80), one_line(values_text(row.changes), 400))) for row in changing)
    return (Table(columns=columns, rows=rows),) if rows else ()


def conclusion(document: Document) -> tuple[str, ...]:
    answer: AdoptAnswer = document.answer
    if answer.verdicts:
        return (one_line(answer.verdicts[0], 800),)
    gain = adoption_scores(answer).difference(answer.gain, answer.ci95)
    return (f"{answer.verdict.capitalize()}: {one_line(answer.winner or 'no candidate', 80)}, gain {gain}",)


def verdicts(document: Document) -> tuple[str, ...]:
    """The first says what the conclusion says."""
    answer: AdoptAnswer = document.answer
    code = (f"Code at that time: commit {one_line(answer.commit, 60)}",) if answer.commit else ()
    return (*(one_line(verdict, 800) for verdict in answer.verdicts[1:]), *code)


def sheet(document: Document) -> Sheet:
    """One row for each candidate, with a column for each of its seeds."""
    answer: AdoptAnswer = document.answer
    most = max((len(row.scores) for row in answer.rows), default=0)
    columns = (*SHEET_COLUMNS, *(f"score_{place}" for place in range(1, most + 1)))
    return Sheet(columns=columns, rows=tuple(_sheet_row(answer, row, most) for row in answer.rows))


def snippets(document: Document) -> tuple[Snippet, ...]:
    """What holds now, as the next round's file takes it."""
    answer: AdoptAnswer = document.answer
    try:
        lines = toml_lines(answer.configuration)
    except UsageError as error:
        lines = [f"# It cannot be written: {one_line(error.message, 400)}."]
    return (Snippet(title="What holds now, for a round's file", text="\n".join(["[incumbent]", *lines])),)


def _points(scores: Scores) -> str:
    return "points, " if scores.in_percent else ""


def _row(scores: Scores, row: CandidateRow) -> Row:
    cells = (
        one_line(row.label, 80),
        scores.cell(row.mean, row.sd),
        count(len(row.scores)),
        scores.around(row.gain, row.ci95, signed=True) if known(row.gain) else "",
        f"{row.p_value:.2g}" if row.p_value is not None and known(row.p_value) else "",
        row.verdict or "",
        duration(row.seconds),
    )
    return Row(cells=cells, tone="plain" if row.verdict is None else TONES[row.verdict])


def _sheet_row(answer: AdoptAnswer, row: CandidateRow, most: int) -> tuple[Number, ...]:
    scores: tuple[Number, ...] = (*row.scores, *[None] * (most - len(row.scores)))
    return (
        answer.round, answer.campaign, answer.metric, answer.higher_is_better, row.label, row.label == answer.winner,
        len(row.scores), row.failed, row.mean, row.sd, row.gain, *(row.ci95 or (None, None)), row.p_value, row.test,
        row.verdict, answer.minimum_gain, answer.level, row.search_score, row.seconds,
        values_text(row.changes), *scores,
    )  # fmt: skip


ADOPT = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=adopt_chart,
    snippets=snippets,
    method=METHOD,
)
