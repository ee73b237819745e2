"""Throughput against batch size, and below it, on the same axis, what memory it took."""

from typing import Any

from traindyno.core.answers import CurvePoint, Document, ThroughputAnswer
from traindyno.report.charts.batch_mark import batch_mark
from traindyno.report.charts.memory import memory_edge, memory_panel
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    HEIGHT,
    INK,
    LABEL_SIZE,
    ORANGE,
    RED,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    rate_axis,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import known, one_line, rate

SIGN_GAP = 1.4
# An interval without end must not press the curve to the floor.
FARTHEST_END, AIR_ABOVE = 1.6, 1.2


def throughput_chart(document: Document) -> dict[str, Any] | None:
    """Two panels on one log₂ axis; null when no size could be measured."""
    import altair

    answer: ThroughputAnswer = document.answer
    curve = sorted((point for point in answer.curve if known(point.examples_per_second)), key=_size)
    if not curve:
        return None
    sizes = [point.batch_size for point in curve]
    sizes += [answer.out_of_memory_from] if answer.out_of_memory_from else []
    panels = altair.vconcat(_rate_panel(answer, curve, sizes), memory_panel(answer, curve, sizes), spacing=18)
    title = f"{one_line(answer.model, 48)} ({setting_words(document, answer.mode)})"
    return finished(panels.resolve_scale(x="shared").properties(title=chart_title(document, title)))


def _size(point: CurvePoint) -> int:
    return point.batch_size


def _rate_panel(answer: ThroughputAnswer, curve: list[CurvePoint], sizes: list[int]) -> Any:
    import altair

    x = batch_axis(sizes, (answer.recommended_batch, answer.best_batch), titled=False)
    highest = max(point.examples_per_second for point in curve)
    ends = [end for point in curve if known(end := point.ci95[1])]
    top = min(max([highest, *ends]), FARTHEST_END * highest)
    y = rate_axis(highest, top * AIR_ABOVE)
    layers = [*_edge(answer, sizes, x), *_saturation(answer, sizes, x), *_curve(curve, x, y, top)]
    return altair.layer(*layers, *_named(answer, curve, x, y)).properties(width=WIDTH, height=HEIGHT)


def _curve(curve: list[CurvePoint], x: Any, y: Any, top: float) -> list[Any]:
    """The line, the 95 % intervals, and the points; doubtful points are hollow and carry `(!)`, none above `top`."""
    import altair

    rows = [_row(point) for point in curve]
    base = altair.Chart(rows_data(rows))
    intervals = altair.Chart(rows_data(row for row in rows if row["spread"]))
    doubtful = altair.Chart(rows_data(row for row in rows if row["doubtful"]))
    low = altair.Y("low:Q")
    band = intervals.mark_area(color=BLUE, opacity=0.16, clip=True).encode(x=x, y=low, y2="high:Q")
    arms = intervals.mark_rule(color=BLUE, strokeWidth=1.6, clip=True).encode(x=x, y=low, y2="high:Q")
    cap = intervals.mark_tick(color=BLUE, thickness=1.6, size=9, orient="horizontal", clip=True).encode(x=x)
    line = base.mark_line(color=BLUE, strokeWidth=2).encode(x=x, y=y)
    points = base.mark_circle(color=BLUE, size=52, opacity=1).encode(x=x, y=y)
    hollow = doubtful.mark_point(color=BLUE, fill="white", size=62, strokeWidth=2, opacity=1).encode(x=x, y=y)
    signs = [row | {"sign": min(row["high"], top)} for row in _apart([row for row in rows if row["doubtful"]])]
    signed = altair.Chart(rows_data(signs))
    sign = signed.mark_text(text="(!)", color=RED, fontSize=LABEL_SIZE, fontWeight="bold", dx=-9, dy=-15)
    return [
        band,
        line,
        arms,
        cap.encode(y=low),
        cap.encode(y="high:Q"),
        points,
        hollow,
        sign.encode(x=x, y="sign:Q"),
    ]


def _apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those rows whose signs do not touch the one before."""
    kept: list[dict[str, Any]] = []
    for row in rows:
        if not kept or row["batch_size"] >= SIGN_GAP * kept[-1]["batch_size"]:
            kept.append(row)
    return kept


def _named(answer: ThroughputAnswer, curve: list[CurvePoint], x: Any, y: Any) -> list[Any]:
    """The recommended point and the best, told apart by shape as well as colour, named above the panel."""
    import altair

    rows = [row for row in (_named_row(answer, point) for point in curve) if row is not None]
    if not rows:
        return []
    names = [row["name"] for row in rows]
    color = altair.Scale(domain=names, range=[row["color"] for row in rows])
    shape = altair.Scale(domain=names, range=[row["shape"] for row in rows])
    legend = altair.Legend(orient="top", symbolStrokeColor=INK, symbolSize=130, columnPadding=24)
    points = altair.Chart(rows_data(rows)).mark_point(size=170, stroke=INK, strokeWidth=1.5, opacity=1)
    return [
        points.encode(
            x=x,
            y=y,
            fill=altair.Fill("name:N", scale=color, legend=legend, title=None),
            shape=altair.Shape("name:N", scale=shape, legend=legend, title=None),
        )
    ]


def _named_row(answer: ThroughputAnswer, point: CurvePoint) -> dict[str, Any] | None:
    best, recommended = (point.batch_size == size for size in (answer.best_batch, answer.recommended_batch))
    if not best and not recommended:
        return None
    name = "best and recommended" if best and recommended else "recommended" if recommended else "best"
    label = f"{name}: batch {point.batch_size}, {rate(point.examples_per_second)} examples/s"
    look = {"color": GREEN, "shape": "diamond"} if recommended else {"color": ORANGE, "shape": "triangle-up"}
    return _row(point) | look | {"name": label}


def _saturation(answer: ThroughputAnswer, sizes: list[int], x: Any) -> list[Any]:
    start = answer.saturated_from
    if start is None or not min(sizes) <= start <= max(sizes):
        return []
    return batch_mark(start, f"saturated from {start}", sizes, x)


def _edge(answer: ThroughputAnswer, sizes: list[int], x: Any) -> list[Any]:
    """Where memory ended the sweep: the strip from the failed size to the right edge."""
    import altair

    if answer.out_of_memory_from is None:
        return []
    text = altair.Chart(rows_data([{"batch_size": answer.out_of_memory_from, "label": "out of memory"}]))
    words = text.mark_text(angle=270, color=RED, fontSize=LABEL_SIZE, dy=15)
    middle = altair.value(HEIGHT / 2)
    return [*memory_edge(answer, sizes, x, HEIGHT), words.encode(x=x, y=middle, text="label:N")]


def _row(point: CurvePoint) -> dict[str, Any]:
    finite = all(known(end) for end in point.ci95)
    low, high = point.ci95 if finite else (point.examples_per_second, point.examples_per_second)
    return {
        "batch_size": point.batch_size,
        "rate": point.examples_per_second,
        "low": low,
        "high": high,
        "spread": finite,
        "doubtful": bool(point.marks) or not point.steady,
    }
