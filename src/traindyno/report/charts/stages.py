"""What each stage of loading costs per example, as bars."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.loading import StageCost
from traindyno.report.charts.style import INK, LABEL_SIZE, STAGE_COLORS, panel_title, rows_data
from traindyno.report.wording import duration, known, share

BAR_STEP = 30
MILLISECOND = 1e-3
LABEL_PIXELS = 135


def stages_panel(stages: Sequence[StageCost], width: int) -> Any | None:
    """One bar per stage with its time and share; null where nothing was timed."""
    import altair

    timed = [cost for cost in stages if known(cost.seconds)]
    whole = sum(cost.seconds for cost in timed)
    if not timed or whole <= 0:
        return None
    rows = [_row(cost, whole) for cost in timed]
    furthest = max(row["milliseconds"] for row in rows) * (1 + LABEL_PIXELS / (width - LABEL_PIXELS))
    axis = altair.Axis(title="milliseconds per example, one process", tickCount=4, grid=False)
    x = altair.X("milliseconds:Q", scale=altair.Scale(domain=[0, furthest], nice=False), axis=axis)
    y = altair.Y("stage:N", sort=None, axis=altair.Axis(title=None, ticks=False, domain=False, labelPadding=6))
    base = altair.Chart(rows_data(rows))
    bars = base.mark_bar(height={"band": 0.66}).encode(x=x, y=y, color=altair.Color("color:N", scale=None))
    words = base.mark_text(align="left", dx=6, fontSize=LABEL_SIZE, color=INK).encode(x=x, y=y, text="label:N")
    return altair.layer(bars, words).properties(width=width, height={"step": BAR_STEP}, title=panel_title("Stages"))


def _row(cost: StageCost, whole: float) -> dict[str, Any]:
    return {
        "stage": cost.stage,
        "milliseconds": cost.seconds / MILLISECOND,
        "color": STAGE_COLORS[cost.stage],
        "label": f"{duration(cost.seconds)} ({share(cost.seconds / whole)})",
    }
