"""Which way to train reaches a target first: each of them over its seeds, and what can be told apart."""

import math

from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers import Document, Interval, TargetAnswer, TargetRow
from traindyno.report.charts.target import target_chart
from traindyno.report.conditions import run_settings
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import NOT_AVAILABLE, batch, count, duration, known, one_line

NEVER = "never"
PREDICTED_COLUMNS = (
    Column(heading="batch"),
    Column(heading="step"),
    Column(heading="steps", narrow="steps,\nof least"),
    Column(heading="time", narrow="time, of\nthe best"),
)
SHEET_COLUMNS = (
    "model", "data", "metric", "value", "label", "batch_size", "learning_rate", "seeds", "reached", "median_seconds",
    "median_seconds_ci95_low", "median_seconds_ci95_high", "examples", "examples_ci95_low", "examples_ci95_high",
    "steps", "steps_ci95_low", "steps_ci95_high", "cost", "best_metric", "diverged", "missing", "resolution_seconds",
    "winner", "devices", "norm_examples",
)  # fmt: skip
METHOD = (
    "Every way to train was run with every seed, each in a fresh process, all with one seed before the next began, in "
    "an order of its own. Evaluations came after equally many examples for all, with the clock of training stopped; "
    "the first step, which compiles and allocates, is in the time. A run has reached the target at the first "
    "evaluation that met it, if the next met it too; nothing is interpolated between evaluations. A run that did not "
    "get there within its epochs counts as infinite, and so does one that lost its numbers or could not be run; every "
    "schedule ends with its own run. A median's 95 % interval lies between two of the times themselves and assumes "
    "nothing about them. The shortest median is tested against each of the others by the log-rank test, exact for up "
    "to nine seeds, with Holm's correction for several. A winner must pass all of them, and even if the others had "
    "crossed right after the evaluation before. A way on several devices was trained by torchrun with one process on "
    "each, which share every batch; its batch size is that of all together, and its cost that of all devices. On a CPU "
    "a device is a process, with as many threads in every way to train."
)


def title(document: Document) -> str:
    answer: TargetAnswer = document.answer
    device = run_settings(document).device
    where = f" ({one_line(device)})" if device else ""
    return f"Time to {_aim(answer)}: {one_line(answer.model)} on {one_line(answer.data)}{where}"


def headline(document: Document) -> Headline:
    """The shortest median, whether it wins or not, which the sentence under it says."""
    answer: TargetAnswer = document.answer
    first = min(answer.rows, key=lambda row: row.median_seconds if known(row.median_seconds) else math.inf)
    beside = [("95 % interval", _ends(first.ci95) or "needs six seeds"), ("reached", _reached(first))]
    beside += [("cost", _cost(first.cost))] if first.cost is not None else []
    beside += [("fewest examples", answer.least_examples)] if answer.least_examples else []
    return Headline(value=_time(first.median_seconds), label=conclusion(document)[0], beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: TargetAnswer = document.answer
    priced, named = any(row.cost is not None for row in answer.rows), bool(_differing(answer))
    columns = (
        Column(heading="way to train", right=False),
        *([Column(heading="settings", right=False)] if named else []),
        Column(heading="learning rate", narrow="learning\nrate"),
        Column(heading="reached"),
        Column(heading="training time", narrow="training\ntime"),
        Column(heading="95 % interval", narrow="95 %\ninterval"),
        Column(heading="examples"),
        *([Column(heading="cost")] if priced else []),
    )
    rows = tuple(_row(answer, row, priced=priced, named=named) for row in answer.rows)
    return (Table(columns=columns, rows=rows, title="Medians over all runs"), *_predicted(answer))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: TargetAnswer = document.answer
    return tuple(one_line(verdict, 600) for verdict in answer.verdicts[:1])


def verdicts(document: Document) -> tuple[str, ...]:
    """The first says what the conclusion says."""
    answer: TargetAnswer = document.answer
    return tuple(one_line(verdict, 600) for verdict in answer.verdicts[1:])


def sheet(document: Document) -> Sheet:
    answer: TargetAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, row) for row in answer.rows))


def _aim(answer: TargetAnswer) -> str:
    return f"{answer.metric} {answer.value:g}"


def _row(answer: TargetAnswer, row: TargetRow, *, priced: bool, named: bool) -> Row:
    cells = (
        one_line(row.label, 40),
        *([_settings(answer, row)] if named else []),
        f"{row.learning_rate:.3g}",
        _reached(row),
        _time(row.median_seconds),
        _ends(row.ci95) or NOT_AVAILABLE,
        count(round(row.examples)) if known(row.examples) else NEVER,
        *([_cost(row.cost)] if priced else []),
    )
    tone: Tone = "chosen" if row.label == answer.winner else "bad" if not row.reached else "plain"
    return Row(cells=cells, tone=tone)


def _differing(answer: TargetAnswer) -> list[str]:
    """The settings in which the rows differ, where the names of the rows do not tell them."""
    if all(row.label == f"batch {row.settings.get('batch_size')}" for row in answer.rows):
        return []
    names = answer.rows[0].settings
    return [name for name in names if len({str(row.settings.get(name)) for row in answer.rows}) > 1]


def _settings(answer: TargetAnswer, row: TargetRow) -> str:
    told = [f"{one_line(name)}={one_line(value_words(row.settings[name]))}" for name in _differing(answer)]
    return ", ".join(told)


def _predicted(answer: TargetAnswer) -> tuple[Table, ...]:
    """What the noise scale says of every timed batch."""
    if not answer.predicted:
        return ()
    rows = tuple(
        Row(
            cells=(
                batch(each.batch_size),
                duration(each.step_seconds),
                f"{each.relative_steps:.2f}×",
                f"{each.relative_time:.2f}×",
            ),
            tone="chosen" if each.relative_time == 1 else "plain",
        )
        for each in answer.predicted
    )
    title = f"Predicted by a noise scale of {answer.noise_scale:.3g}"
    return (Table(columns=PREDICTED_COLUMNS, rows=rows, title=title),)


def _reached(row: TargetRow) -> str:
    return f"{row.reached} of {row.seeds}"


def _time(seconds: float) -> str:
    """A median that is not finite was missed by half of the runs."""
    return duration(seconds) if known(seconds) else NEVER


def _ends(interval: Interval | None) -> str | None:
    if interval is None:
        return None
    return NEVER if not known(interval[0]) else f"{duration(interval[0])} to {_time(interval[1])}"


def _cost(cost: float | None) -> str:
    return f"{cost:.4g}" if cost is not None and known(cost) else NOT_AVAILABLE


def _sheet_row(answer: TargetAnswer, row: TargetRow) -> tuple[Number, ...]:
    unknown: tuple[None, None] = (None, None)
    return (
        answer.model, answer.data, answer.metric, answer.value, row.label, row.settings.get("batch_size"),
        row.learning_rate, row.seeds, row.reached, row.median_seconds, *(row.ci95 or unknown), row.examples,
        *(row.examples_ci95 or unknown), row.steps, *(row.steps_ci95 or unknown), row.cost, row.best_metric,
        row.diverged, row.missing, row.resolution_seconds, row.label == answer.winner, row.devices,
        row.norm_examples,
    )  # fmt: skip


TARGET = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=target_chart,
    method=METHOD,
)
