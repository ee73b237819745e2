"""The lines of scaling: what was measured with its intervals, the ideal, and, dashed, what is predicted."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from traindyno.core.answers import BreakEven, Interval, ScalePrediction, ScaleRow
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    LABEL_SIZE,
    ORANGE,
    PURPLE,
    RED,
    batch_axis,
    panel_title,
    rows_data,
    tick_sizes,
)
from traindyno.report.wording import known

HEIGHT = 250
COLORS = (BLUE, ORANGE, GREEN, PURPLE, RED)
LINEAR, PREDICTED = [2, 3], [7, 4]


class Line(NamedTuple):
    """Rows that differ in their devices alone. `weak`: every device keeps the batch of this `size`."""

    name: str
    size: int
    rows: list[ScaleRow]
    weak: bool


def throughput_panel(lines: Sequence[Line], predicted: Sequence[ScalePrediction]) -> Any:
    """Examples per second over devices, beside as many times those of the fewest; null without lines."""
    import altair

    if not lines:
        return None
    measured = [_rate_row(line.name, row) for line in lines for row in line.rows]
    further = [row for line in lines if line.weak for row in _predicted_rates(line, predicted)]
    counts = sorted({row["devices"] for row in (*measured, *further)})
    ideal = [row for line in lines for row in _linear(line, max(counts) if line.weak and further else None)]
    y = _rate_axis([row[end] for row in (*measured, *further, *ideal) for end in ("low", "rate", "high") if end in row])
    x, color = _devices_axis(counts), _color([line.name for line in lines])
    dotted = altair.Chart(rows_data(ideal)).mark_line(strokeDash=LINEAR, strokeWidth=1.4, opacity=0.75)
    layers = [dotted.encode(x=x, y=y, color=color), *_measured(measured, x, y, color), *_dashed(further, x, y, color)]
    dashed = ", dashed: predicted" if further else ""
    return _panel(layers, f"Throughput (dotted: linear{dashed})", HEIGHT)


def efficiency_panel(lines: Sequence[Line], predicted: Sequence[ScalePrediction]) -> Any:
    """What of linear is left, where every device keeps its batch; null where that was not measured."""
    import altair

    if not lines:
        return None
    measured = [_share_row(line.name, row) for line in lines for row in line.rows]
    further = [row for line in lines for row in _predicted_shares(line, predicted)]
    counts = sorted({row["devices"] for row in (*measured, *further)})
    highest = max(1.0, *(row["high"] for row in (*measured, *further)))
    axis = altair.Axis(title="efficiency", format="%", tickCount=5)
    y = altair.Y("rate:Q", scale=altair.Scale(domain=[0, min(highest, 1.6) * 1.06], nice=False), axis=axis)
    x, color = _devices_axis(counts), _color([line.name for line in lines])
    ideal = altair.Chart(rows_data([{"rate": 1.0}])).mark_rule(color=GREY, strokeDash=LINEAR, strokeWidth=1.4)
    layers = [ideal.encode(y=y), *_measured(measured, x, y, color), *_dashed(further, x, y, color)]
    dashed = ", dashed: predicted" if further else ""
    return _panel(layers, f"Efficiency (dotted: linear{dashed})", HEIGHT)


def speedup_panel(rows: Sequence[ScaleRow], break_even: Sequence[BreakEven]) -> Any:
    """How many times as fast as the fewest devices with the same batch in all, over it; null where not measured."""
    import altair

    fewest = min((row.devices for row in rows), default=1)
    found = [row for row in rows if row.devices > fewest and row.speedup is not None and known(row.speedup)]
    if not found:
        return None
    drawn: list[dict[str, Any]] = [
        {"name": f"{row.devices} devices", "batch_size": row.batch_size} | _ends(row.speedup or 0.0, row.speedup_ci95)
        for row in sorted(found, key=lambda row: (row.devices, row.batch_size))
    ]
    names = list(dict.fromkeys(str(row["name"]) for row in drawn))
    x = _batch_axis(sorted({row.batch_size for row in found}))
    top = max(1.0, *(row["rate"] for row in drawn)) * 1.15
    y = altair.Y(
        "rate:Q", scale=altair.Scale(domain=[0, top], nice=False),
        axis=altair.Axis(title=f"times {'one device' if fewest == 1 else f'{fewest} devices'}", tickCount=5),
    )  # fmt: skip
    ideal = altair.Chart(rows_data([{"rate": 1.0}])).mark_rule(color=GREY, strokeDash=LINEAR, strokeWidth=1.4)
    layers = [ideal.encode(y=y), *_measured(drawn, x, y, _color(names)), *_paying(break_even, drawn, x, y)]
    return _panel(
        layers, f"Speed-up with a shared batch (dotted: as fast as {'one' if fewest == 1 else fewest})", HEIGHT
    )


def _paying(break_even: Sequence[BreakEven], drawn: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """From which batch on a count of devices pays, where it does not at all of them."""
    import altair

    crossings = {
        (f"{each.devices} devices", each.batch_size): f"pays {'from' if each.holds_above else 'at'} {each.batch_size}"
        for each in break_even
        if each.slower_at is not None and each.batch_size is not None
    }
    marked = [row | {"label": crossings[_place(row)]} for row in drawn if _place(row) in crossings]
    if not marked:
        return []
    chart = altair.Chart(rows_data(marked))
    rings = chart.mark_point(size=190, color=GREY, strokeWidth=1.6, opacity=1).encode(x=x, y=y)
    words = chart.mark_text(align="right", dx=-11, dy=-12, fontSize=LABEL_SIZE, color=GREY)
    return [rings, words.encode(x=x, y=y, text="label:N")]


def _place(row: dict[str, Any]) -> tuple[str, int]:
    return row["name"], row["batch_size"]


def _measured(rows: list[dict[str, Any]], x: Any, y: Any, color: Any) -> list[Any]:
    import altair

    chart = altair.Chart(rows_data(rows)).encode(x=x, color=color)
    spans = altair.Chart(rows_data(row for row in rows if row["high"] > row["low"])).encode(x=x, color=color)
    return [
        chart.mark_line(strokeWidth=2, clip=True).encode(y=y),
        spans.mark_rule(strokeWidth=1.6, clip=True).encode(y="low:Q", y2="high:Q"),
        chart.mark_circle(size=58, opacity=1, clip=True).encode(y=y),
    ]


def _dashed(rows: list[dict[str, Any]], x: Any, y: Any, color: Any) -> list[Any]:
    import altair

    if not rows:
        return []
    chart = altair.Chart(rows_data(rows)).encode(x=x, color=color)
    points = altair.Chart(rows_data(row for row in rows if row["predicted"])).encode(x=x, color=color)
    return [
        chart.mark_line(strokeDash=PREDICTED, strokeWidth=1.8).encode(y=y),
        points.mark_rule(strokeDash=[3, 2], strokeWidth=1.4).encode(y="low:Q", y2="high:Q"),
        points.mark_point(fill="white", size=58, strokeWidth=2, opacity=1).encode(y=y),
    ]


def _rate_row(name: str, row: ScaleRow) -> dict[str, Any]:
    return {"name": name, "devices": row.devices} | _ends(row.examples_per_second or 0.0, row.ci95)


def _share_row(name: str, row: ScaleRow) -> dict[str, Any]:
    return {"name": name, "devices": row.devices} | _ends(row.efficiency or 0.0, row.efficiency_ci95)


def _ends(value: float, interval: Interval | None) -> dict[str, Any]:
    low, high = interval if interval is not None and all(known(end) for end in interval) else (value, value)
    return {"rate": value, "low": low, "high": high}


def _linear(line: Line, most: int | None) -> list[dict[str, Any]]:
    """As many times the fewest devices, also at the counts between so that the line bends as it must."""
    first, last = line.rows[0], line.rows[-1]
    each, end = (first.examples_per_second or 0.0) / first.devices, most or last.devices
    counts = sorted({first.devices, end, *(2**power for power in range(first.devices.bit_length(), end.bit_length()))})
    return [{"name": line.name, "devices": count, "rate": each * count} for count in counts if count <= end]


def _predicted_rates(line: Line, predicted: Sequence[ScalePrediction]) -> list[dict[str, Any]]:
    """From the last that was measured on; the range is that of the efficiency."""
    found = [each for each in predicted if each.batch_per_device == line.size and each.efficiency > 0]
    rows = [
        _rate_row(line.name, line.rows[-1]) | {"predicted": False},
        *(
            {"name": line.name, "devices": each.devices, "predicted": True}
            | _ends(
                each.examples_per_second,
                tuple(end / each.efficiency * each.examples_per_second for end in each.efficiency_range),  # type: ignore[arg-type]
            )
            for each in found
        ),
    ]
    return rows if found else []


def _predicted_shares(line: Line, predicted: Sequence[ScalePrediction]) -> list[dict[str, Any]]:
    found = [each for each in predicted if each.batch_per_device == line.size]
    rows = [
        _share_row(line.name, line.rows[-1]) | {"predicted": False},
        *(
            {"name": line.name, "devices": each.devices, "predicted": True}
            | _ends(each.efficiency, each.efficiency_range)
            for each in found
        ),
    ]
    return rows if found else []


def _panel(layers: list[Any], title: str, height: int) -> Any:
    import altair

    return altair.layer(*layers).properties(height=height, title=flush_title(title))


def flush_title(text: str) -> Any:
    """A heading that begins where its panel does, whatever stands to the left of that."""
    title = panel_title(text)
    title.frame = "group"
    return title


def _rate_axis(ends: list[float]) -> Any:
    """Logarithmic as the axis of devices, so that what is linear is straight."""
    import altair

    found = [end for end in ends if known(end) and end > 0]
    low, high = min(found) / 1.15, max(found) * 1.15
    scale = altair.Scale(type="log", domain=[low, high], nice=False)
    axis = altair.Axis(title="throughput (examples/s)", values=_round_figures(low, high), format=",~r")
    return altair.Y("rate:Q", scale=scale, axis=axis)


def _round_figures(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every power of ten between the two."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    figures = (digit * 10.0**power for power in powers for digit in (1, 2, 5))
    return [figure for figure in figures if low <= figure <= high]


def _batch_axis(sizes: list[int]) -> Any:
    return batch_axis(sizes).axis(
        values=tick_sizes(sizes), format="d", grid=False, labelOverlap=True, title="batch in all (examples per step)"
    )


def _devices_axis(counts: list[int]) -> Any:
    import altair

    axis = altair.Axis(values=tick_sizes(counts), format="d", grid=False, labelOverlap=True, title="devices")
    air = max(1.12, (counts[-1] / counts[0]) ** 0.06)
    scale = altair.Scale(type="log", base=2, domain=[counts[0] / air, counts[-1] * air], nice=False)
    return altair.X("devices:Q", scale=scale, axis=axis)


def _color(names: list[str]) -> Any:
    import altair

    scale = altair.Scale(domain=names, range=list(COLORS[: len(names)]))
    return altair.Color("name:N", scale=scale, title=None, legend=altair.Legend(orient="top", columns=3))
