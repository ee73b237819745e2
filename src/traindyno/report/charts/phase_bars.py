"""Steps as bars of their phases, in time per example and, of several, also in shares of the step."""

from itertools import accumulate
from typing import Any

import msgspec

from traindyno.core.base import Record
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    INK,
    LABEL_SIZE,
    PALE_GREY,
    PINK,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    panel_title,
    rows_data,
)
from traindyno.report.wording import one_line

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
PLAIN = "plain"
WORDS = {"load": "load (stall)", "optimizer": "optimiser"}
UNITS = (("seconds", 1.0), ("milliseconds", 1e-3), ("microseconds", 1e-6))


class PhaseBar(Record, frozen=True):
    """One step: its phases that take time, in seconds per example and in shares, and the words behind each bar.

    `plain_words` is the step without instruments, where that is another than what the phases sum up to.
    """

    name: str
    seconds_per_example: dict[str, float]
    shares: dict[str, float]
    seconds_words: str
    share_words: str
    plain_words: str | None = None


class Measure(Record, frozen=True):
    """What the bars are drawn in: `per` this many seconds per example, or null for shares of the step.

    `room` is the length of the axis; its ticks end where the bars do.
    """

    heading: str
    axis: str
    room: float
    per: float | None = None


def phases_panel(bars: list[PhaseBar]) -> Any:
    """Seconds beside shares, for a fast step takes too little per example to be seen in parts beside a slow one."""
    import altair

    if len(bars) == 1:
        return _panel(bars, _seconds_measure(bars), WIDTH)
    seconds = _panel(bars, _seconds_measure(bars), HALF)
    shares = _panel(bars, _share_measure(bars), HALF, named=False)
    return altair.hconcat(seconds, shares, spacing=18).resolve_scale(y="shared")


def time_unit(longest: float) -> tuple[str, float]:
    """The largest unit in which the longest time is at least one."""
    return next(((name, size) for name, size in UNITS if longest >= size), UNITS[-1])


def _seconds_measure(bars: list[PhaseBar]) -> Measure:
    heading, room = "Time per example", 1.32
    if any(bar.plain_words for bar in bars):
        heading, room = f"{heading} ({PLAIN}: without instruments)", 1.95
    measure = Measure(heading=heading, axis="seconds per example", room=1.0, per=1.0)
    longest = max(_total(bar, measure) for bar in bars)
    unit, per = time_unit(longest)
    return msgspec.structs.replace(measure, axis=f"{unit} per example", room=longest / per * room, per=per)


def _share_measure(bars: list[PhaseBar]) -> Measure:
    """As in the table."""
    measure = Measure(heading="Share of the step", axis="share of the step", room=1.0)
    return msgspec.structs.replace(measure, room=1.62 * max(1.0, *(_total(bar, measure) for bar in bars)))


def _panel(bars: list[PhaseBar], measure: Measure, width: int, named: bool = True) -> Any:
    import altair

    rows = [row for bar in bars for row in _stacked(bar, measure)]
    names = [name for name in COLORS if any(row["phase"] == _word(name) for row in rows)]
    scale = altair.Scale(domain=[0, measure.room], nice=False)
    ticks = {"values": [0, 0.5, 1], "format": "%"} if measure.per is None else {"tickCount": 5}
    x = altair.X("start:Q", scale=scale, axis=altair.Axis(title=measure.axis, **ticks))
    names_axis = altair.Axis(title=None, ticks=False, domain=False, labelPadding=6) if named else None
    y = altair.Y("step:N", sort=None, axis=names_axis)
    colors = altair.Scale(domain=[_word(name) for name in names], range=[COLORS[name] for name in names])
    legend = altair.Legend(orient="bottom", columns=7, offset=10) if named else None
    color = altair.Color("phase:N", scale=colors, title=None, legend=legend)
    drawn = altair.Chart(rows_data(rows)).mark_bar(height={"band": 0.64}).encode(x=x, x2="end:Q", y=y, color=color)
    ends = altair.Chart(rows_data(_end(bar, measure) for bar in bars))
    labels = ends.mark_text(align="left", dx=8, fontSize=LABEL_SIZE, color=INK).encode(
        x=altair.X("end:Q", scale=scale), y=y, text="label:N"
    )
    title = panel_title(measure.heading)
    return altair.layer(drawn, labels).properties(width=width, height={"step": BAR_STEP}, title=title)


def _stacked(bar: PhaseBar, measure: Measure) -> list[dict[str, Any]]:
    """The phases of one step, one after another."""
    shown = _lengths(bar, measure)
    ends = list(accumulate(shown.values()))
    return [
        {"step": bar.name, "phase": _word(name), "start": end - length, "end": end}
        for (name, length), end in zip(shown.items(), ends, strict=True)
    ]


def _end(bar: PhaseBar, measure: Measure) -> dict[str, Any]:
    words = bar.share_words if measure.per is None else _seconds_words(bar)
    return {"step": bar.name, "end": _total(bar, measure), "label": words}


def _seconds_words(bar: PhaseBar) -> str:
    return bar.seconds_words if bar.plain_words is None else f"{bar.seconds_words} ({PLAIN} {bar.plain_words})"


def _total(bar: PhaseBar, measure: Measure) -> float:
    return sum(_lengths(bar, measure).values())


def _lengths(bar: PhaseBar, measure: Measure) -> dict[str, float]:
    """By phase, in the order of the step."""
    if measure.per is None:
        return {name: bar.shares[name] for name in COLORS if name in bar.shares}
    lengths = bar.seconds_per_example
    return {name: lengths[name] / measure.per for name in COLORS if name in lengths}


def _word(name: str) -> str:
    return WORDS.get(name, one_line(name))
