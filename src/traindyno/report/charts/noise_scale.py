"""Steps, time per step and their product over the batch, and below it the noise scale over training."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.answers import BatchTime, Document, NoiseScaleAnswer, NoiseWindow
from traindyno.report.charts.batch_mark import batch_mark
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    HEIGHT,
    LOW_HEIGHT,
    ORANGE,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.wording import known, one_line

STEPS, STEP_TIME, TIME = "steps", "time per step", "time to the same loss"
COLORS = {STEPS: BLUE, STEP_TIME: ORANGE, TIME: GREEN}
FARTHEST = 3.0
"""Intervals that reach beyond all values by more than this factor are cut off at the frame."""


def noise_scale_chart(document: Document) -> dict[str, Any] | None:
    """The panels there is something to draw in; null where there is none."""
    import altair

    answer: NoiseScaleAnswer = document.answer
    windows = [window for window in answer.windows if window.noise_scale is not None]
    panels = [
        *([_batches_panel(answer)] if len(answer.rows) > 1 else []),
        *([_training_panel(answer, windows)] if windows else []),
    ]
    if not panels:
        return None
    title = chart_title(document, f"Gradient noise and the batch: {one_line(answer.model, 40)}", note=_note(answer))
    whole = altair.vconcat(*panels, spacing=18).properties(title=title)
    return finished(whole.resolve_scale(color="independent"))


def _note(answer: NoiseScaleAnswer) -> str:
    return f"read at batch {answer.batch_size}, rate {answer.learning_rate:g}"


def _batches_panel(answer: NoiseScaleAnswer) -> Any:
    """All three beside their own least value, so that one axis serves them; logarithmic both ways."""
    import altair

    x = batch_axis([row.batch_size for row in answer.rows], (answer.best_batch, answer.batch_size))
    points = [point for row in answer.rows for point in _points(answer.rows, row)]
    axis = altair.Axis(title="times the least", format=",~g", tickCount=6)
    y = altair.Y("times:Q", scale=altair.Scale(type="log", domain=_times_domain(points), nice=False), axis=axis)
    color = altair.Color(
        "what:N",
        scale=altair.Scale(domain=list(COLORS), range=list(COLORS.values())),
        legend=altair.Legend(orient="top", title=None),
    )
    chart = altair.Chart(rows_data(points))
    spans = altair.Chart(rows_data(point for point in points if known(point["high"]) and point["low"] > 0))
    line = chart.mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=color)
    dots = chart.mark_circle(size=55, opacity=1, clip=True).encode(x=x, y=y, color=color)
    arms = spans.mark_rule(strokeWidth=1.5, clip=True).encode(x=x, y="low:Q", y2="high:Q", color=color)
    title = panel_title("By batch size, each beside its own least; bars: 95 % intervals")
    return altair.layer(line, arms, dots, *_marks(answer, x)).properties(width=WIDTH, height=HEIGHT, title=title)


def _times_domain(points: Sequence[dict[str, Any]]) -> list[float]:
    """Holds every value; intervals too, as far as they leave the values room to be told apart."""
    highest = max(point["times"] for point in points)
    spans = [point for point in points if known(point["high"]) and point["low"] > 0]
    low = min((point["low"] for point in spans), default=1.0)
    high = max((point["high"] for point in spans), default=highest)
    return [0.95 * max(min(low, 1.0), 1 / FARTHEST), 1.1 * max(highest, min(high, FARTHEST * highest))]


def _points(rows: Sequence[BatchTime], row: BatchTime) -> list[dict[str, Any]]:
    fewest = min(each.relative_steps for each in rows)
    shortest = min(each.step_seconds for each in rows)
    low, high = row.relative_time_ci95
    values = {
        STEPS: (row.relative_steps / fewest, 0.0, 0.0),
        STEP_TIME: (row.step_seconds / shortest, row.ci95[0] / shortest, row.ci95[1] / shortest),
        TIME: (row.relative_time, low, high),
    }
    return [
        {"batch_size": row.batch_size, "what": what, "times": value, "low": least, "high": most}
        for what, (value, least, most) in values.items()
    ]


def _marks(answer: NoiseScaleAnswer, x: Any) -> list[Any]:
    """Where the best batch lies."""
    if answer.best_batch is None:
        return []
    return batch_mark(answer.best_batch, f"best: {answer.best_batch}", [row.batch_size for row in answer.rows], x)


def _training_panel(answer: NoiseScaleAnswer, windows: Sequence[NoiseWindow]) -> Any:
    """A step and a band for each part of training."""
    import altair

    rows = [_window(window) for window in windows]
    last = max(window.last_step for window in answer.windows)
    x = altair.X(
        "first:Q",
        scale=altair.Scale(domain=[0, last], nice=False),
        axis=altair.Axis(title="optimiser steps", grid=False, tickCount=8),
    )
    ends = [row[name] for row in rows for name in ("low", "high", "scale") if row[name] > 0]
    scale = altair.Scale(type="log", domain=[min(ends) / 1.2, max(ends) * 1.2], nice=False)
    axis = altair.Axis(title="noise scale (examples)", format="~g", tickCount=5)
    chart = altair.Chart(rows_data(rows))
    band = chart.mark_rect(color=BLUE, opacity=0.18, clip=True).encode(
        x=x, x2="last:Q", y=altair.Y("low:Q", scale=scale, axis=axis), y2="high:Q"
    )
    line = chart.mark_rule(color=BLUE, strokeWidth=2.5).encode(
        x=x, x2="last:Q", y=altair.Y("scale:Q", scale=scale, axis=axis)
    )
    title = panel_title("Over training, with 95 % intervals")
    return altair.layer(band, line).properties(width=WIDTH, height=LOW_HEIGHT, title=title)


def _window(window: NoiseWindow) -> dict[str, Any]:
    scale = window.noise_scale or 0.0
    low, high = window.ci95 or (scale, scale)
    return {
        "first": window.first_step,
        "last": window.last_step,
        "scale": scale,
        "low": max(low, scale / 20),
        "high": min(high, 20 * scale),
    }
