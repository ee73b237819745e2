"""Memory against batch size: what was measured, the affine model, the limit, and where it was crossed."""

from typing import Any

from traindyno.core.answers import CurvePoint, MemoryModel, ThroughputAnswer
from traindyno.report.charts.style import (
    BLUE,
    GREY,
    LABEL_SIZE,
    LOW_HEIGHT,
    PALE_RED,
    RED,
    WIDTH,
    batch_axis,
    batch_domain,
    rows_data,
)
from traindyno.report.wording import size

GIBIBYTE = 2**30
MODEL_POINTS = 40


def memory_panel(answer: ThroughputAnswer, curve: list[CurvePoint], sizes: list[int]) -> Any:
    """The lower panel of the throughput chart."""
    import altair

    x = batch_axis(sizes, (answer.recommended_batch, answer.best_batch))
    highest = max(point.peak_memory_bytes for point in curve) / GIBIBYTE
    limit = answer.memory_limit_bytes / GIBIBYTE if answer.memory_limit_bytes else None
    ceiling = max(highest, limit or 0.0) * 1.16 or 1.0
    y = memory_axis(ceiling)
    layers = [
        *memory_edge(answer, sizes, x, LOW_HEIGHT),
        *model_line(answer.memory_model, sizes, x, y, ceiling),
    ]
    layers += [*_measured(curve, x, y), *limit_line(answer.memory_limit_bytes, y)]
    return altair.layer(*layers).properties(width=WIDTH, height=LOW_HEIGHT)


def memory_axis(ceiling: float) -> Any:
    """The axis of peak memory in GiB, from zero."""
    import altair

    scale = altair.Scale(domain=[0, ceiling], nice=False)
    return altair.Y("gibibytes:Q", scale=scale, axis=altair.Axis(title="peak memory (GiB)", tickCount=5))


def limit_line(limit_bytes: int | None, y: Any) -> list[Any]:
    """The memory limit across the panel, with its amount."""
    import altair

    if not limit_bytes:
        return []
    row = {"gibibytes": limit_bytes / GIBIBYTE, "label": f"memory limit {size(limit_bytes)}"}
    chart = altair.Chart(rows_data([row]))
    rule = chart.mark_rule(color=RED, strokeWidth=1.5).encode(y=y)
    text = chart.mark_text(align="left", dx=6, dy=-9, color=RED, fontSize=LABEL_SIZE)
    return [rule, text.encode(x=altair.value(0), y=y, text="label:N")]


def model_line(model: MemoryModel | None, sizes: list[int], x: Any, y: Any, ceiling: float) -> list[Any]:
    """The affine model, dashed, as far as the panel reaches; it curves on a logarithmic axis."""
    import altair

    if model is None:
        return []
    low, high = batch_domain(sizes)
    steps = [low * (high / low) ** (index / MODEL_POINTS) for index in range(MODEL_POINTS + 1)]
    rows = [
        {"batch_size": step, "gibibytes": (model.intercept_bytes + model.slope_bytes * step) / GIBIBYTE}
        for step in steps
    ]
    inside = [row for row in rows if 0 <= row["gibibytes"] <= ceiling]
    return [altair.Chart(rows_data(inside)).mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1.6).encode(x=x, y=y)]


def _measured(curve: list[CurvePoint], x: Any, y: Any) -> list[Any]:
    import altair

    rows = [{"batch_size": point.batch_size, "gibibytes": point.peak_memory_bytes / GIBIBYTE} for point in curve]
    return [altair.Chart(rows_data(rows)).mark_circle(color=BLUE, size=52, opacity=1).encode(x=x, y=y)]


def memory_edge(answer: ThroughputAnswer, sizes: list[int], x: Any, height: int) -> list[Any]:
    """Where memory ended the sweep: a strip from the failed size to the right end of a panel."""
    import altair

    if answer.out_of_memory_from is None:
        return []
    row = {"batch_size": answer.out_of_memory_from, "end": batch_domain(sizes)[1]}
    chart = altair.Chart(rows_data([row]))
    strip = chart.mark_rect(color=PALE_RED, opacity=1)
    rule = chart.mark_rule(color=RED, strokeWidth=1.5).encode(x=x)
    return [strip.encode(x=x, x2="end:Q", y=altair.value(0), y2=altair.value(height)), rule]
