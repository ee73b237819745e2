"""A tuning round: the answer to its question if its checks allow one, and everything that it rests on."""

from statistics import mean

from traindyno.core.answers import Document, IsolationRow, RoundAnswer
from traindyno.core.errors import UsageError
from traindyno.core.round_text import format_round
from traindyno.core.units import count_of
from traindyno.report.charts.rounds import round_chart
from traindyno.report.charts.rounds_axes import axes_chart
from traindyno.report.charts.rounds_best_of_k import best_of_k_chart
from traindyno.report.charts.rounds_curves import curves_chart
from traindyno.report.charts.rounds_importance import importance_chart
from traindyno.report.charts.rounds_isolation import isolation_chart
from traindyno.report.charts.rounds_parallel import parallel_chart
from traindyno.report.charts.rounds_runs import round_of
from traindyno.report.charts.rounds_scores import round_scores
from traindyno.report.view import Chapter, Headline, Snippet, Table, Tone, View
from traindyno.report.views.rounds_arms import arms_table
from traindyno.report.views.rounds_checks import checks_table
from traindyno.report.views.rounds_sheet import sheet
from traindyno.report.views.rounds_tables import best_runs_table, importance_table, proposals_table
from traindyno.report.wording import count, duration, known, one_line

NOT_YET = "not yet"
METHOD = (
    "Every value of the target has its own search, an arm, with as many draws as the others: its nuisance parameters "
    "are drawn from a scrambled Halton sequence, so that arms differ in the target and not in the luck of their draws. "
    "Arms are compared by the best that equally many draws can be expected to give, an unbiased estimate from all of "
    "an arm's runs; runs without a score count as the worst there is. Runs that diverged, crashed or ran out of memory "
    "or time are kept, and drawn where they lie. Checks come before conclusions: while one has failed, nothing "
    "is concluded. The search picks the best of many runs, which flatters it, so its scores are never evidence for "
    "adopting anything; fresh seeds are."
)


def title(document: Document) -> str:
    answer: RoundAnswer = document.answer
    question = one_line(answer.question, 200) if answer.question else f"tuning {one_line(answer.metric, 40)}"
    return f"Round {one_line(answer.round, 70)}: {question}"


def headline(document: Document) -> Headline:
    """What the best arm is expected to gain, or the best score of a round without a target, or that it is too early."""
    answer: RoundAnswer = document.answer
    tone: Tone = "good" if answer.ready else "plain"
    return Headline(value=_value(answer), label=conclusion(document)[0], beside=_beside(answer), tone=tone)


def tables(document: Document) -> tuple[Table, ...]:
    answer: RoundAnswer = document.answer
    return (
        *checks_table(answer),
        *arms_table(document),
        *importance_table(answer),
        *proposals_table(answer),
        *best_runs_table(answer),
    )


def conclusion(document: Document) -> tuple[str, ...]:
    """The answer in words and numbers, or which check forbids one."""
    answer: RoundAnswer = document.answer
    if answer.verdicts:
        return (one_line(answer.verdicts[0], 800),)
    failed = next((check for check in answer.checks if check.state == "failed"), None)
    return ("Nothing is concluded yet" + ("" if failed is None else f": {one_line(failed.text, 600)}"),)


def verdicts(document: Document) -> tuple[str, ...]:
    """The first says what the conclusion says; what fresh seeds said stands although the search is open again."""
    answer: RoundAnswer = document.answer
    still = not answer.ready and answer.adopted is not None
    proved = (f"Fresh seeds have said {answer.adopted}; the failed check is about the search, not about them",)
    return (*(one_line(verdict, 800) for verdict in answer.verdicts[1:]), *(proved if still else ()))


def snippets(document: Document) -> tuple[Snippet, ...]:
    """The round's file, to run it again."""
    told = round_of(document)
    if told is None:
        return ()
    try:
        text = format_round(told).rstrip()
    except UsageError as error:
        text = f"# The file cannot be written: {one_line(error.message, 400)}."
    return (Snippet(title=f"The round's file, {one_line(told.name, 70)}.toml", text=text),)


def chapters(document: Document) -> tuple[Chapter, ...]:
    answer: RoundAnswer = document.answer
    return (
        Chapter(heading="Checks", tables=_untitled(checks_table(answer))),
        Chapter(heading="Isolation", chart=isolation_chart(document), tables=_untitled(arms_table(document))),
        Chapter(heading="Axis plots", chart=axes_chart(document)),
        Chapter(heading="Parallel view", chart=parallel_chart(document)),
        Chapter(heading="Curves", chart=curves_chart(document)),
        Chapter(heading="Best of k", chart=best_of_k_chart(document)),
        Chapter(heading="Importance", chart=importance_chart(document), tables=_untitled(importance_table(answer))),
        Chapter(heading="Proposals", tables=_untitled(proposals_table(answer))),
        Chapter(heading="Best runs", tables=_untitled(best_runs_table(answer))),
    )


def _untitled(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """The chapter's heading says what the table's title would."""
    return tuple(Table(columns=each.columns, rows=each.rows, legend=each.legend) for each in tables)


def _gain(answer: RoundAnswer) -> IsolationRow | None:
    """The arm that differs from the incumbent's for the better by most."""
    told = [row for row in answer.isolation if known(row.difference)]
    sign = 1 if answer.higher_is_better else -1
    return max(told, key=lambda row: sign * (row.difference or 0.0), default=None)


def _value(answer: RoundAnswer) -> str:
    if not answer.ready:
        return NOT_YET
    scores, row = round_scores(answer), _gain(answer)
    if answer.target is not None and row is not None:
        return scores.difference(row.difference)
    return scores.words(None if answer.best is None else answer.best.score)


def _beside(answer: RoundAnswer) -> tuple[tuple[str, str], ...]:
    scores, gain = round_scores(answer), _gain(answer)
    seeds = [score for score in answer.incumbent_scores if known(score)]
    lost = sum(not run.feasible for run in answer.runs)
    planned = f" of {count(answer.planned_trials)}" if answer.planned_trials > len(answer.runs) else ""
    compared = answer.ready and gain is not None
    told = (
        ("checks failed", count(sum(check.state == "failed" for check in answer.checks)) if not answer.ready else None),
        ("with", f"{answer.target} = {one_line(gain.arm, 80)}" if compared and gain is not None else None),
        ("95 % interval", scores.difference_ends(gain.difference_ci95) if compared and gain is not None else None),
        ("best run", None if answer.best is None else scores.words(answer.best.score)),
        ("incumbent", f"{scores.words(mean(seeds))} over {count_of(len(seeds), 'seed')}" if seeds else None),
        ("runs", f"{count(len(answer.runs))}{planned}, {lost} without a score"),
        ("took", duration(answer.seconds)),
        ("fresh seeds say", answer.adopted if answer.ready else None),
    )
    return tuple((name, words) for name, words in told if words)


ROUND = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=round_chart,
    snippets=snippets,
    chapters=chapters,
    method=METHOD,
)
