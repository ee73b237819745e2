"""Gradient noise: the noise scale, how steps and time depend on the batch, and the noise over training."""

from traindyno.analysis.noise_verdicts import figure
from traindyno.core.answers import BatchTime, Document, Interval, NoiseScaleAnswer, NoiseWindow
from traindyno.report.charts.noise_scale import noise_scale_chart
from traindyno.report.conditions import setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import NOT_AVAILABLE, batch, known, one_line, ratio_interval, short_interval

TIME_COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="steps", unit="times the fewest", narrow="steps\n(× fewest)"),
    Column(heading="examples", unit="times the fewest", narrow="examples\n(× fewest)"),
    Column(heading="time per step", narrow="time\nper step"),
    Column(heading="time to the same loss", unit="times the best", narrow="time to the\nsame loss"),
    Column(heading="note", right=False),
)
WINDOW_COLUMNS = (
    Column(heading="steps", right=False),
    Column(heading="epochs until then", narrow="epochs\nuntil then"),
    Column(heading="noise scale", narrow="noise\nscale"),
)
SHEET_COLUMNS = (
    "model", "data", "batch_size", "relative_steps", "relative_examples", "step_seconds", "step_seconds_ci95_low",
    "step_seconds_ci95_high", "relative_time", "relative_time_ci95_low", "relative_time_ci95_high", "best",
    "noise_scale", "noise_scale_ci95_low", "noise_scale_ci95_high",
)  # fmt: skip
METHOD = (
    "Runs of the recipe were halted at even distances, and gradients of several micro-batches of different examples "
    "were read at the weights of that moment; training went on as if nothing had been read. Their differences tell the "
    "trace of one example's covariance, their mean the squared length of the gradient, both without bias for a draw "
    "without replacement from so many examples. Loss scale, clipping and weight decay are no part of the gradients; "
    "Adam's are measured after its own preconditioner. The noise scale is mean noise over mean squared gradient, where "
    "readings count by the progress that a step at the run's batch made then; its interval is Fieller's, over readings "
    "and over runs, whichever is wider. Steps to the same loss are taken as proportional to 1 + noise scale / batch, "
    "which holds where every batch has a rate of its own. Times per step were measured in fresh processes with data "
    "resident on the device, at the sizes shown; best batch and range are of these sizes alone."
)


def title(document: Document) -> str:
    answer: NoiseScaleAnswer = document.answer
    words = setting_words(document, f"batch {answer.batch_size}", f"rate {answer.learning_rate:g}")
    return f"Gradient noise of {one_line(answer.model)} on {one_line(answer.data)} ({words})"


def headline(document: Document) -> Headline:
    answer: NoiseScaleAnswer = document.answer
    beside = [("noise scale", scale_words(answer.noise_scale, answer.ci95))]
    if answer.batch_range is not None:
        beside.append(("within 5 % of its time", range_words(answer.batch_range)))
    beside.append(("runs read", str(answer.runs)))
    return Headline(value=batch(answer.best_batch), label="batch that reaches a loss soonest", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: NoiseScaleAnswer = document.answer
    times = Table(
        columns=TIME_COLUMNS,
        rows=tuple(_time_row(answer, row) for row in answer.rows),
        legend=_model_words(answer),
    )
    windows = Table(
        columns=WINDOW_COLUMNS,
        rows=tuple(_window_row(window) for window in answer.windows),
        title="Noise scale over training",
        legend=("n/a: there the gradient could not be told from its noise",)
        if any(window.noise_scale is None for window in answer.windows)
        else (),
    )
    return tuple(table for table in (times, windows) if table.rows)


def conclusion(document: Document) -> tuple[str, ...]:
    answer: NoiseScaleAnswer = document.answer
    lines = [f"Noise scale: {scale_words(answer.noise_scale, answer.ci95)}"]
    if answer.best_batch is not None and answer.batch_range is not None:
        alone = answer.batch_range[0] == answer.batch_range[1]
        others = "no other measured one" if alone else f"batch {range_words(answer.batch_range)}"
        lines.append(f"Best batch: {answer.best_batch}; within 5 % of its time: {others}")
    return tuple(lines)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: NoiseScaleAnswer = document.answer
    return tuple(one_line(verdict, 500) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    """One row for each measured batch; the noise scale, which is the same for all, stands in each."""
    answer: NoiseScaleAnswer = document.answer
    low, high = answer.ci95 or (None, None)
    rows: tuple[tuple[Number, ...], ...] = tuple(
        (
            answer.model, answer.data, row.batch_size, row.relative_steps, row.relative_examples, row.step_seconds,
            row.ci95[0], row.ci95[1], row.relative_time, row.relative_time_ci95[0], row.relative_time_ci95[1],
            row.batch_size == answer.best_batch, answer.noise_scale, low, high,
        )
        for row in answer.rows
    )  # fmt: skip
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def scale_words(noise_scale: float | None, interval: Interval | None) -> str:
    """`66 (45 to 180)`."""
    if noise_scale is None:
        return f"{NOT_AVAILABLE}: the gradient could not be told from its noise"
    if interval is None:
        return figure(noise_scale)
    top = figure(interval[1]) if known(interval[1]) else "any"
    return f"{figure(noise_scale)} ({figure(interval[0])} to {top})"


def range_words(span: tuple[int, int]) -> str:
    return str(span[0]) if span[0] == span[1] else f"{span[0]} to {span[1]}"


def _time_row(answer: NoiseScaleAnswer, row: BatchTime) -> Row:
    span = answer.batch_range or (0, 0)
    best = row.batch_size == answer.best_batch
    notes = [
        *(["best"] if best else []),
        *(["within 5 %"] if not best and span[0] <= row.batch_size <= span[1] else []),
        *(["asked about"] if row.batch_size == answer.batch_size else []),
        *(one_line(mark) for mark in row.marks),
    ]
    tone: Tone = "chosen" if best else "good" if span[0] <= row.batch_size <= span[1] else "plain"
    cells = (
        batch(row.batch_size),
        f"{row.relative_steps:.2f}",
        f"{row.relative_examples:.2f}" if known(row.relative_examples) else NOT_AVAILABLE,
        short_interval(row.step_seconds, row.ci95),
        "1" if best else ratio_interval(row.relative_time, row.relative_time_ci95),
        ", ".join(notes),
    )
    return Row(cells=cells, tone=tone)


def _window_row(window: NoiseWindow) -> Row:
    known_scale = window.noise_scale is not None
    scale = scale_words(window.noise_scale, window.ci95) if known_scale else NOT_AVAILABLE
    return Row(cells=(f"{window.first_step} to {window.last_step}", f"{window.epochs:.3g}", scale))


def _model_words(answer: NoiseScaleAnswer) -> tuple[str, ...]:
    """The straight line through the step times, and where it would put the best batch; for display alone."""
    if answer.alpha_seconds is None or answer.beta_seconds is None or not known(answer.closed_form_batch):
        return ()
    line = f"{1e3 * answer.alpha_seconds:.3g} ms + {1e6 * answer.beta_seconds:.3g} µs × batch"
    return (f"a straight line through the times per step, {line}, is fastest at {answer.closed_form_batch:.0f}",)


NOISE_SCALE = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=noise_scale_chart,
    method=METHOD,
)
