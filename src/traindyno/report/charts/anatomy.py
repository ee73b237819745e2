"""The step's phases per example, stacked, over batch sizes; below, what moving an example takes."""

from itertools import accumulate
from typing import Any

import msgspec

from traindyno.core.answers import AnatomyAnswer, AnatomySize, Document
from traindyno.core.base import Record
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    INK,
    LABEL_SIZE,
    LOW_HEIGHT,
    ORANGE,
    PALE_GREY,
    PINK,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import duration, known, one_line

BAR_STEP = 34
HALF = 300
COLORS = {
    "load": RED,
    "transfer": PINK,
    "forward": SKY,
    "backward": BLUE,
    "optimizer": GREEN,
    "communication": PURPLE,
    "other": PALE_GREY,
}
WORDS = {"load": "load (stall)", "optimizer": "optimiser"}
PAGEABLE, PINNED = "from pageable memory", "from pinned memory"
UNITS = (("seconds", 1.0), ("milliseconds", 1e-3), ("microseconds", 1e-6))


def anatomy_chart(document: Document) -> dict[str, Any] | None:
    """Bars of the phases above the lines of the copies; null when no step was timed."""
    import altair

    answer: AnatomyAnswer = document.answer
    sizes = [size for size in answer.sizes if known(size.step_seconds) and any(_drawn(size, name) for name in COLORS)]
    if not sizes:
        return None
    copies = _copies_panel(answer, sizes)
    panels = [_phases_panel(sizes), *([] if copies is None else [copies])]
    words = setting_words(document, answer.mode)
    title = chart_title(document, f"What a step of {one_line(answer.model, 40)} is made of ({words})")
    return finished(altair.vconcat(*panels, spacing=26).properties(title=title).resolve_scale(color="independent"))


def _phases_panel(sizes: list[AnatomySize]) -> Any:
    """Seconds beside shares, for the large batches of a wide sweep take too little per example to be seen in parts."""
    import altair

    if len(sizes) == 1:
        return _bars(sizes, _seconds_measure(sizes), WIDTH)
    seconds = _bars(sizes, _seconds_measure(sizes), HALF)
    shares = _bars(sizes, _share_measure(sizes), HALF, named=False)
    return altair.hconcat(seconds, shares, spacing=18).resolve_scale(y="shared")


class Measure(Record, frozen=True):
    """What the bars are drawn in: `per` this many seconds per example, or null for shares of the step.

    `room` is the length of the axis; its ticks end where the bars do.
    """

    heading: str
    axis: str
    room: float
    per: float | None = None


def _seconds_measure(sizes: list[AnatomySize]) -> Measure:
    plain = Measure(heading="Time per example", axis="seconds per example", room=1.0, per=1.0)
    longest = max(_total(size, plain) for size in sizes)
    unit, per = _unit(longest)
    return msgspec.structs.replace(plain, axis=f"{unit} per example", room=longest / per * 1.32, per=per)


def _share_measure(sizes: list[AnatomySize]) -> Measure:
    """As in the table: phases with instruments may be a little more than the step without them, or less."""
    measure = Measure(heading="Share of the step", axis="share of the step", room=1.0)
    return msgspec.structs.replace(measure, room=1.62 * max(1.0, *(_total(size, measure) for size in sizes)))


def _bars(sizes: list[AnatomySize], measure: Measure, width: int, named: bool = True) -> Any:
    import altair

    rows = [row for size in sizes for row in _stacked(size, measure)]
    names = [name for name in COLORS if any(row["phase"] == _word(name) for row in rows)]
    scale = altair.Scale(domain=[0, measure.room], nice=False)
    ticks = {"values": [0, 0.5, 1], "format": "%"} if measure.per is None else {"tickCount": 5}
    x = altair.X("start:Q", scale=scale, axis=altair.Axis(title=measure.axis, **ticks))
    names_axis = altair.Axis(title=None, ticks=False, domain=False, labelPadding=6) if named else None
    y = altair.Y("batch:N", sort=None, axis=names_axis)
    colors = altair.Scale(domain=[_word(name) for name in names], range=[COLORS[name] for name in names])
    legend = altair.Legend(orient="bottom", columns=7, offset=10) if named else None
    color = altair.Color("phase:N", scale=colors, title=None, legend=legend)
    bars = altair.Chart(rows_data(rows)).mark_bar(height={"band": 0.64}).encode(x=x, x2="end:Q", y=y, color=color)
    ends = altair.Chart(rows_data(_end(size, measure) for size in sizes))
    labels = ends.mark_text(align="left", dx=8, fontSize=LABEL_SIZE, color=INK).encode(
        x=altair.X("end:Q", scale=scale), y=y, text="label:N"
    )
    title = panel_title(measure.heading)
    return altair.layer(bars, labels).properties(width=width, height={"step": BAR_STEP}, title=title)


def _stacked(size: AnatomySize, measure: Measure) -> list[dict[str, Any]]:
    """The phases of one batch size, one after another."""
    shown = [(name, _length(size, name, measure)) for name in COLORS if _drawn(size, name)]
    ends = list(accumulate(length for _, length in shown))
    return [
        {"batch": _label(size), "phase": _word(name), "start": end - length, "end": end}
        for (name, length), end in zip(shown, ends, strict=True)
    ]


def _end(size: AnatomySize, measure: Measure) -> dict[str, Any]:
    words = one_line(size.bound) if measure.per is None else duration(size.step_seconds / size.batch_size)
    return {"batch": _label(size), "end": _total(size, measure), "label": words}


def _total(size: AnatomySize, measure: Measure) -> float:
    return sum(_length(size, name, measure) for name in COLORS if _drawn(size, name))


def _length(size: AnatomySize, name: str, measure: Measure) -> float:
    cost = size.phases[name]
    return cost.share if measure.per is None else cost.seconds_per_example / measure.per


def _drawn(size: AnatomySize, name: str) -> bool:
    return name in size.phases and size.phases[name].seconds > 0


def _copies_panel(answer: AnatomyAnswer, sizes: list[AnatomySize]) -> Any:
    """What moving one example takes against the batch size; null where nothing is moved, or only one size was."""
    import altair

    found = [(size, each) for size in sizes for each in size.transfers if each.seconds > 0]
    if len({size.batch_size for size, _ in found}) < 2:
        return None
    unit, factor = _unit(max(each.seconds_per_example for _, each in found))
    rows: list[dict[str, Any]] = [
        {
            "batch_size": size.batch_size,
            "memory": PINNED if each.pinned else PAGEABLE,
            "time": each.seconds_per_example / factor,
            "low": each.ci95[0] / size.batch_size / factor,
            "high": each.ci95[1] / size.batch_size / factor,
        }
        for size, each in found
    ]
    ends = [end for row in rows for end in (row["time"], row["high"]) if known(end)]
    highest = max(ends)
    x = batch_axis([size.batch_size for size in sizes], (answer.batch_size,))
    axis = altair.Axis(title=f"{unit} per example", tickCount=5)
    y = altair.Y("time:Q", scale=altair.Scale(domain=[0, highest * 1.1], nice=False), axis=axis)
    colors = altair.Scale(domain=[PAGEABLE, PINNED], range=[ORANGE, GREEN])
    color = altair.Color("memory:N", scale=colors, title=None, legend=altair.Legend(orient="top"))
    base = altair.Chart(rows_data(rows)).encode(x=x, color=color)
    lines = base.mark_line(strokeWidth=2, point=altair.OverlayMarkDef(size=55, filled=True)).encode(y=y)
    bounded = [row for row in rows if known(row["high"])]
    arms = base.mark_rule(strokeWidth=1.4).encode(y="low:Q", y2="high:Q").properties(data=rows_data(bounded))
    title = panel_title("Moving one example to the device")
    return altair.layer(arms, lines).properties(width=WIDTH, height=LOW_HEIGHT, title=title)


def _unit(longest: float) -> tuple[str, float]:
    """The largest unit in which the longest time is at least one."""
    return next(((name, size) for name, size in UNITS if longest >= size), UNITS[-1])


def _word(name: str) -> str:
    return WORDS.get(name, one_line(name))


def _label(size: AnatomySize) -> str:
    return f"batch {size.batch_size}"
