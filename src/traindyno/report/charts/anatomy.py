"""The step's phases per example, stacked, over batch sizes; below, what moving an example takes."""

from typing import Any

from traindyno.core.answers import AnatomyAnswer, AnatomySize, Document, PhaseCost
from traindyno.report.charts.phase_bars import COLORS, PhaseBar, phases_panel, time_unit
from traindyno.report.charts.style import (
    GREEN,
    LOW_HEIGHT,
    ORANGE,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import duration, known, one_line

PAGEABLE, PINNED = "from pageable memory", "from pinned memory"
NOTABLE_DIFFERENCE = 0.03
"""By so much of it the step without instruments may differ from the sum of its phases before both are told."""


def anatomy_chart(document: Document) -> dict[str, Any] | None:
    """Bars of the phases above the lines of the copies; null when no step was timed."""
    import altair

    answer: AnatomyAnswer = document.answer
    sizes = [size for size in answer.sizes if known(size.step_seconds) and _drawn(size)]
    if not sizes:
        return None
    copies = _copies_panel(answer, sizes)
    panels = [phases_panel([_bar(size) for size in sizes]), *([] if copies is None else [copies])]
    words = setting_words(document, answer.mode)
    title = chart_title(document, f"What a step of {one_line(answer.model, 40)} is made of ({words})")
    return finished(altair.vconcat(*panels, spacing=26).properties(title=title).resolve_scale(color="independent"))


def _bar(size: AnatomySize) -> PhaseBar:
    """The label is what the bar sums up to; the step without instruments stands beside it where it is another."""
    drawn = _drawn(size)
    whole, plain = sum(cost.seconds_per_example for cost in drawn.values()), size.step_seconds / size.batch_size
    return PhaseBar(
        name=f"batch {size.batch_size}",
        seconds_per_example={name: cost.seconds_per_example for name, cost in drawn.items()},
        shares={name: cost.share for name, cost in drawn.items()},
        seconds_words=duration(whole),
        share_words=one_line(size.bound),
        plain_words=duration(plain) if abs(whole / plain - 1) > NOTABLE_DIFFERENCE else None,
    )


def _drawn(size: AnatomySize) -> dict[str, PhaseCost]:
    return {name: cost for name, cost in size.phases.items() if name in COLORS and cost.seconds > 0}


def _copies_panel(answer: AnatomyAnswer, sizes: list[AnatomySize]) -> Any:
    """What moving one example takes against the batch size; null where nothing is moved, or only one size was."""
    import altair

    found = [(size, each) for size in sizes for each in size.transfers if each.seconds > 0]
    if len({size.batch_size for size, _ in found}) < 2:
        return None
    unit, factor = time_unit(max(each.seconds_per_example for _, each in found))
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
