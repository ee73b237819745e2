"""What all charts share: colours that colour-blind readers can tell apart, sizes, and the batch axis."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from traindyno.core.answers import Document
from traindyno.report.conditions import device_name
from traindyno.report.document import is_simulated
from traindyno.report.wording import one_line

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#5F6B76"
PALE_GREY = "#AEB8C2"
PALE_RED = "#FBE9E0"
INK, FAINT = "#1F2933", "#E3E8ED"
SKY, PINK, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#6A4C93", "#F0E442"
STAGE_COLORS = {"fetch": SKY, "decode": ORANGE, "augment": GREEN, "example": ORANGE, "collate": GREY}
WIDTH, HEIGHT, LOW_HEIGHT = 660, 290, 190
LABEL_SIZE = 13
TICK_PIXELS = 38
LINE_LENGTH, MOST_LINES = 110, 3


def tick_sizes(sizes: Iterable[int], important: Iterable[int | None] = ()) -> list[int]:
    """Which batch sizes to write under a log₂ axis so that no two labels touch: the important ones first."""
    wanted = sorted(set(sizes))
    if not wanted:
        return []
    first = [size for size in important if size in wanted]
    powers = [size for size in wanted if size & (size - 1) == 0]
    gap = math.log2(wanted[-1] / wanted[0]) * TICK_PIXELS / WIDTH
    chosen: list[int] = []
    for size in dict.fromkeys([*first, wanted[0], wanted[-1], *powers, *wanted]):
        if size is not None and all(abs(math.log2(size / other)) >= gap for other in chosen):
            chosen.append(size)
    return sorted(chosen)


def batch_domain(sizes: Sequence[int]) -> list[float]:
    """The sizes with a little air on both sides of a logarithmic axis."""
    span = max(sizes) / min(sizes)
    air = max(1.12, span**0.06)
    return [min(sizes) / air, max(sizes) * air]


def batch_axis(sizes: Sequence[int], important: Iterable[int | None] = (), titled: bool = True) -> Any:
    """The log₂ axis of batch sizes, ticked at the sizes themselves."""
    import altair

    axis = altair.Axis(
        values=tick_sizes(sizes, important),
        format="d",
        grid=False,
        labelOverlap=False,
        title="batch size (examples per step)" if titled else None,
    )
    scale = altair.Scale(type="log", base=2, domain=batch_domain(sizes), nice=False)
    return altair.X("batch_size:Q", scale=scale, axis=axis)


def rate_axis(highest: float, ceiling: float, title: str = "throughput (examples/s)") -> Any:
    """The axis of what is measured, from zero, in plain figures."""
    import altair

    digits = 0 if highest >= 20 else 1 if highest >= 2 else 2
    axis = altair.Axis(title=title, format=f",.{digits}f", tickCount=5)
    return altair.Y("rate:Q", scale=altair.Scale(domain=[0, ceiling], nice=False), axis=axis)


def rows_data(rows: Iterable[dict[str, Any]]) -> Any:
    """Rows as a chart's own inline data."""
    import altair

    return altair.InlineData(values=list(rows))


def chart_title(document: Document, text: str, alert: str | None = None, note: str | None = None) -> Any:
    """The title, what it was measured on, and loud words when it was not measured or is not alike."""
    import altair

    loud = [part for part in ("SIMULATED, not measured" if is_simulated(document) else None, alert) if part]
    below = [*loud, device_name(document), note]
    lines = _lines(" · ".join(part for part in below if part))
    return altair.TitleParams(
        text=one_line(text, 84),
        subtitle=lines[0] if len(lines) == 1 else lines,
        subtitleColor=RED if loud else GREY,
        subtitleFontWeight="bold" if loud else "normal",
    )


def _lines(text: str) -> list[str]:
    """A subtitle is a legend, so it goes on below instead of being cut."""
    return textwrap.wrap(one_line(text, MOST_LINES * LINE_LENGTH), LINE_LENGTH) or [""]


def panel_title(text: str) -> Any:
    """The heading of one panel among several, smaller than the chart's own."""
    import altair

    return altair.TitleParams(text=text, fontSize=14, anchor="start", offset=8)


def finished(chart: Any) -> dict[str, Any]:
    """The whole chart as a specification, with the house's fonts and lines.

    All of them at once: each call of `configure` would copy the chart with its data.
    """
    import altair

    config = altair.Config(
        font="Liberation Sans, Arial, Helvetica, sans-serif",
        background="white",
        padding=14,
        view=altair.ViewConfig(stroke=None),
        title=altair.TitleConfig(
            anchor="start",
            fontSize=17,
            fontWeight=600,
            subtitleFontSize=13,
            color=INK,
            offset=14,
            subtitlePadding=5,
        ),
        axis=altair.AxisConfig(
            labelFontSize=LABEL_SIZE,
            titleFontSize=LABEL_SIZE,
            titleFontWeight="normal",
            titlePadding=10,
            labelColor=INK,
            titleColor=INK,
            gridColor=FAINT,
            domainColor=GREY,
            tickColor=GREY,
        ),
        legend=altair.LegendConfig(
            labelFontSize=LABEL_SIZE, titleFontSize=LABEL_SIZE, labelLimit=460, orient="top", title=None
        ),
    )
    specification: dict[str, Any] = chart.properties(config=config).to_dict()
    return specification
