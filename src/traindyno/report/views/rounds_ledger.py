"""A campaign's decisions, oldest first: what was adopted when, on which numbers, and what holds now."""

from traindyno.core.answers import Document, LedgerAnswer, LedgerEntry
from traindyno.core.units import count_of
from traindyno.report.charts.rounds_ledger import is_beginning, ledger_chart
from traindyno.report.charts.rounds_runs import values_text
from traindyno.report.charts.rounds_scores import entry_scores
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import clean, known, one_line

COLUMNS = (
    Column(heading="#"),
    Column(heading="round", right=False),
    Column(heading="verdict", right=False),
    Column(heading="score of what holds", unit="± sd", narrow="score of\nwhat holds\n(± sd)"),
    Column(heading="gain of the candidate", unit="95 %", narrow="gain of the\ncandidate\n(95 %)"),
    Column(heading="p"),
    Column(heading="fresh seeds", narrow="fresh\nseeds"),
)
DETAIL_COLUMNS = (
    Column(heading="#"),
    Column(heading="decided", right=False),
    Column(heading="what changed", right=False),
    Column(heading="commit", right=False),
    Column(heading="to repeat it", right=False),
)
SHEET_COLUMNS = (
    "campaign", "decided", "round", "study", "verdict", "question", "metric", "mean", "sd", "gain", "gain_ci95_low",
    "gain_ci95_high", "p_value", "seeds", "changes", "commit", "stale", "command",
    "decision_simulated", "best_of",
)  # fmt: skip
METHOD = (
    "Decisions come from fresh seeds alone, but for what a campaign began with: that is the best run of a search, on "
    "one seed, and flattered by being the best. Score is of what held after the decision, gain of the candidate over "
    "the incumbent, also where it was not taken. p is corrected for the number of candidates, intervals are not. A "
    "result is stale when what was tuned together with it has changed since, such as the model or the batch size: it "
    "held where it was found, and must be tuned again."
)


def title(document: Document) -> str:
    return f"Ledger of campaign {one_line(document.answer.campaign, 80)}"


def headline(document: Document) -> Headline | None:
    """What the last decision left: a score, and how many decisions led there."""
    answer: LedgerAnswer = document.answer
    last = next((entry for entry in reversed(answer.entries) if known(entry.mean)), None)
    if last is None:
        return None
    stale = sum(entry.stale is not None for entry in answer.entries)
    told = (("decisions", str(len(_proved(answer)))), ("adopted", str(_adopted(answer))), ("stale", str(stale)))
    metric, name = one_line(last.metric, 40), one_line(last.round, 70)
    label = (
        f"{metric} of {_best_of(last)}, in {name}: not proved yet" if is_beginning(last) else f"{metric} after {name}"
    )
    return Headline(value=entry_scores(last).words(last.mean), label=label, beside=told)


def tables(document: Document) -> tuple[Table, ...]:
    answer: LedgerAnswer = document.answer
    if not answer.entries:
        return ()
    numbered = list(enumerate(answer.entries, start=1))
    stale = tuple(f"{place}. is stale: {one_line(entry.stale, 300)}" for place, entry in numbered if entry.stale)
    rows = tuple(_row(place, entry) for place, entry in numbered)
    details = tuple(_details(place, entry) for place, entry in numbered)
    return (Table(columns=COLUMNS, rows=rows, legend=stale), Table(columns=DETAIL_COLUMNS, rows=details))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: LedgerAnswer = document.answer
    if not answer.entries:
        return (f"Nothing has been decided in campaign {one_line(answer.campaign, 80)} yet",)
    begun = [one_line(entry.round, 70) for entry in answer.entries if is_beginning(entry)]
    proved = f"{count_of(len(_proved(answer)), 'decision')} from fresh seeds, {_adopted(answer)} adopted"
    parts = (
        f"Begun with {' and '.join(begun)}" if begun else None,
        proved if _proved(answer) else "nothing decided from fresh seeds yet",
    )
    made = "; ".join(part for part in parts if part)
    held = one_line(values_text(answer.configuration), 800)
    return (f"{made}; what holds now: {held}" if held else made,)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: LedgerAnswer = document.answer
    return tuple(one_line(verdict, 800) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: LedgerAnswer = document.answer
    rows: tuple[tuple[Number, ...], ...] = tuple(
        (
            answer.campaign, each.decided, each.round, each.study, each.verdict, each.question, each.metric, each.mean,
            each.sd, each.gain, *(each.ci95 or (None, None)), each.p_value, each.seeds, values_text(each.changes),
            each.commit, each.stale, each.command, each.simulated, each.best_of,
        )
        for each in answer.entries
    )  # fmt: skip
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def _adopted(answer: LedgerAnswer) -> int:
    """What took another's place, among it the simpler of two equals."""
    return sum(bool(entry.changes) for entry in _proved(answer))


def _proved(answer: LedgerAnswer) -> list[LedgerEntry]:
    return [entry for entry in answer.entries if not is_beginning(entry)]


def _details(place: int, entry: LedgerEntry) -> Row:
    changed = one_line(values_text(entry.changes), 300) or "nothing"
    decided = clean(entry.decided).replace("T", " ")[:16]
    return Row(cells=(str(place), decided, changed, one_line(entry.commit or "", 12), one_line(entry.command, 400)))


def _best_of(entry: LedgerEntry) -> str:
    return f"best of {entry.best_of}, one seed"


def _verdict(entry: LedgerEntry) -> str:
    first = f"begun: {_best_of(entry)}" if is_beginning(entry) else entry.verdict
    marks = {"stale": entry.stale, "despite checks": entry.failed_checks, "simulated": entry.simulated}
    return ", ".join([first, *(mark for mark, holds in marks.items() if holds)])


def _row(place: int, entry: LedgerEntry) -> Row:
    scores = entry_scores(entry)
    unit, points = (" %", " points") if scores.in_percent else ("", "")
    cells = (
        str(place),
        one_line(entry.round, 70),
        _verdict(entry),
        f"{scores.cell(entry.mean, entry.sd)}{unit}" if known(entry.mean) else "",
        f"{scores.around(entry.gain, entry.ci95, signed=True)}{points}" if known(entry.gain) else "",
        f"{entry.p_value:.2g}" if entry.p_value is not None and known(entry.p_value) else "",
        "none" if is_beginning(entry) else str(entry.seeds),
    )
    chosen = entry.verdict == "adopt" and not is_beginning(entry)
    tone: Tone = "bad" if entry.stale else "chosen" if chosen else "plain"
    return Row(cells=cells, tone=tone)


LEDGER = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=ledger_chart,
    method=METHOD,
)
