"""The arms of a round as a table: what each has found, what it is expected to find, and at which price in time."""

from traindyno.core.answers import ArmRow, Document, IsolationRow, RoundAnswer
from traindyno.report.charts.rounds_runs import ENDINGS, arm_label
from traindyno.report.charts.rounds_scores import Scores, round_scores
from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import NOT_AVAILABLE, count, duration, known, one_line, rate


def arms_table(document: Document) -> tuple[Table, ...]:
    answer: RoundAnswer = document.answer
    scores, isolation = round_scores(answer), {row.arm: row for row in answer.isolation}
    points = "points, " if scores.in_percent else ""
    columns = (
        arm_column(answer),
        Column(heading="runs"),
        Column(heading="without a score", right=False, narrow="without\na score"),
        _figures("best run", "best", scores.unit.rstrip(", ")),
        _figures(*_expected_heading(answer), f"{scores.unit}95 %"),
        *([_figures("difference", "difference", f"{points}95 %")] if answer.target else []),
        time_column(document),
        *([Column(heading="examples/s", narrow="exam-\nples/s")] if _has_rates(answer) else []),
    )
    rows = tuple(_arm_row(answer, scores, row, isolation.get(row.arm)) for row in answer.arms)
    return (Table(columns=columns, rows=rows, title="Arms, each with its own search"),) if rows else ()


def arm_column(answer: RoundAnswer) -> Column:
    """Headed by the target, unless the arms name it themselves."""
    named = any(arm_label(answer, row.arm) != row.arm for row in answer.arms)
    heading = "search" if answer.target is None else "arm" if named else one_line(answer.target, 40)
    return Column(heading=heading, right=False)


def arm_words(answer: RoundAnswer, arm: str) -> str:
    return one_line(arm_label(answer, arm), 80)


def time_column(document: Document) -> Column:
    """Runs beside others share the machine with them, so their times are no prices of the arms."""
    if any((entry.get("conditions") or {}).get("runs_beside") for entry in document.trials):
        return Column(heading="time per run, others beside it", narrow="time per\nrun, others\nbeside it")
    return Column(heading="time per run", narrow="time\nper run")


def _figures(heading: str, narrow: str, unit: str) -> Column:
    """The unit below the heading, on two lines where it has two parts."""
    lines = unit.replace(", ", ",\n")
    return Column(heading=heading, unit=unit or None, narrow=f"{narrow}\n({lines})" if unit else narrow)


def _expected_heading(answer: RoundAnswer) -> tuple[str, str]:
    draws = {row.k for row in answer.isolation}
    return (f"expected best of {min(draws)}", f"best of {min(draws)}") if len(draws) == 1 else ("expected best",) * 2


def _arm_row(answer: RoundAnswer, scores: Scores, row: ArmRow, isolated: IsolationRow | None) -> Row:
    expected, difference = NOT_AVAILABLE, NOT_AVAILABLE
    if isolated is not None:
        expected = scores.around(isolated.expected_best, isolated.ci95)
        gap, interval = isolated.difference, isolated.difference_ci95
        difference = "" if gap is None else scores.around(gap, interval, signed=True)
    lost = ", ".join(f"{number} {_ending(ending)}" for ending, number in row.infeasible.items() if number)
    cells = (
        arm_words(answer, row.arm),
        count(row.trials),
        lost or "none",
        scores.cell(row.best_score),
        expected,
        *([difference] if answer.target else []),
        duration(row.seconds),
        *([rate(row.examples_per_second)] if _has_rates(answer) else []),
    )
    chosen = answer.best is not None and answer.best.arm == row.arm and len(answer.arms) > 1
    return Row(cells=cells, tone="chosen" if chosen else "bad" if not row.feasible else "plain")


def _has_rates(answer: RoundAnswer) -> bool:
    """A job of the user's own tells no examples, and runs side by side have no rate of their own."""
    rates = [row.examples_per_second for row in answer.arms if row.feasible]
    return bool(rates) and all(map(known, rates))


def _ending(ending: str) -> str:
    words = {name: text for name, text in ENDINGS.items() if name == ending}
    return next(iter(words.values()), one_line(ending.replace("_", " ")))
