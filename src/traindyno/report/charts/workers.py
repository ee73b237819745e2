"""The rate against the number of workers: measured with intervals, predicted, and the ceiling of resident data."""

from typing import Any

from traindyno.core.answers import ExpectedRate, LoaderAnswer, WorkerPoint
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    LABEL_SIZE,
    ORANGE,
    WIDTH,
    panel_title,
    rate_axis,
    rows_data,
)
from traindyno.report.wording import known, rate

HEIGHT = 250
ALONE, FED, PREDICTED, RECOMMENDED = "the loader alone", "feeding the model", "predicted before", "recommended"
LOOKS = {ALONE: (BLUE, "circle"), FED: (GREEN, "diamond"), PREDICTED: (GREY, "stroke"), RECOMMENDED: (ORANGE, "circle")}
# A resident rate far above all loaders would press their curve to the floor: then it is told, not drawn.
HIGHEST_CEILING = 2.5


def workers_panel(answer: LoaderAnswer) -> Any | None:
    """The worker curve; null when no count was measured."""
    import altair

    points = [point for point in answer.points if point.cpus is None and known(point.examples_per_second)]
    if not points:
        return None
    rows = [_row(answer, point) for point in sorted(points, key=lambda point: point.num_workers)]
    expected = [_expected_row(rate) for rate in answer.expected if known(rate.examples_per_second)]
    highest = max([*(row["high"] for row in rows), *(row["rate"] for row in expected)])
    resident = answer.resident_examples_per_second
    drawn = resident is not None and known(resident) and resident <= HIGHEST_CEILING * highest
    ceiling = max(highest, resident or 0.0 if drawn else 0.0) * 1.2
    counts = sorted({row["workers"] for row in (*rows, *expected)})
    x = altair.X("workers:O", scale=altair.Scale(domain=counts), axis=altair.Axis(title="workers", labelAngle=0))
    y = rate_axis(highest, ceiling)
    layers = [*_expectation(expected, x, y), *_resident(resident, drawn, y), *_measured(rows, x, y)]
    title = panel_title("Rate by workers" + ("; dashed: what each count should give" if expected else ""))
    return altair.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _expectation(rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """The curve that the study leaves one to expect, with the band in which it may lie."""
    import altair

    if len(rows) < 2:
        return []
    base = altair.Chart(rows_data(rows))
    band = base.mark_area(color=GREY, opacity=0.14, clip=True).encode(x=x, y=altair.Y("low:Q"), y2="high:Q")
    line = base.mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1.6).encode(x=x, y=y)
    return [band, line]


def _measured(rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """Lines through what was measured, with intervals; a tick where the prediction was; a ring round the choice."""
    import altair

    predicted = [row | {"rate": row["predicted"], "name": PREDICTED} for row in rows if row["predicted"] is not None]
    chosen = [row | {"name": RECOMMENDED} for row in rows if row["recommended"]]
    names = [name for name in LOOKS if any(row["name"] == name for row in (*rows, *predicted, *chosen))]
    colors, shapes = zip(*(LOOKS[name] for name in names), strict=True)
    legend = altair.Legend(orient="top", symbolSize=110, symbolStrokeWidth=2.5, columnPadding=24)
    color = altair.Color("name:N", scale=altair.Scale(domain=names, range=list(colors)), title=None, legend=legend)
    shape = altair.Shape("name:N", scale=altair.Scale(domain=names, range=list(shapes)), title=None, legend=legend)
    base = altair.Chart(rows_data(rows))
    ticks = altair.Chart(rows_data(predicted)).mark_point(size=420, strokeWidth=2.5, opacity=1)
    ring = altair.Chart(rows_data(chosen)).mark_point(size=260, strokeWidth=2.5, opacity=1)
    low = altair.Y("low:Q")
    return [
        ticks.encode(x=x, y=y, color=color, shape=shape),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=color),
        base.mark_rule(strokeWidth=1.6).encode(x=x, y=low, y2="high:Q", color=color),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=x, y=y, color=color, shape=shape),
        ring.encode(x=x, y=y, color=color, shape=shape),
    ]


def _resident(resident: float | None, drawn: bool, y: Any) -> list[Any]:
    import altair

    if resident is None:
        return []
    label = f"resident data: {rate(resident)} examples/s"
    chart = altair.Chart(rows_data([{"rate": resident, "label": label if drawn else f"{label} (far above)"}]))
    text = chart.mark_text(align="left", dx=6, dy=-9 if drawn else 9, color=GREY, fontSize=LABEL_SIZE)
    if not drawn:
        return [text.encode(x=altair.value(0), y=altair.value(0), text="label:N")]
    rule = chart.mark_rule(color=GREY, strokeWidth=1.5).encode(y=y)
    return [rule, text.encode(x=altair.value(0), y=y, text="label:N")]


def _row(answer: LoaderAnswer, point: WorkerPoint) -> dict[str, Any]:
    finite = all(known(end) for end in point.ci95)
    low, high = point.ci95 if finite else (point.examples_per_second, point.examples_per_second)
    recommended = point.num_workers == answer.recommended.num_workers and point.end_to_end == answer.end_to_end
    predicted = point.predicted_examples_per_second
    return {
        "workers": point.num_workers,
        "rate": point.examples_per_second,
        "low": low,
        "high": high,
        "name": FED if point.end_to_end else ALONE,
        "predicted": predicted if known(predicted) else None,
        "recommended": recommended,
    }


def _expected_row(expected: ExpectedRate) -> dict[str, Any]:
    finite = all(known(end) for end in expected.ci95)
    low, high = expected.ci95 if finite else (expected.examples_per_second, expected.examples_per_second)
    return {"workers": expected.num_workers, "rate": expected.examples_per_second, "low": low, "high": high}
