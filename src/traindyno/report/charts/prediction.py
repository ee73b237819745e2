"""Predictions against what was then measured: on the diagonal they were right."""

from collections.abc import Sequence
from typing import Any

from traindyno.report.charts.style import BLUE, FAINT, GREY, panel_title, rows_data

HEIGHT = 170
TOLERANCE = 0.1


def prediction_panel(pairs: Sequence[tuple[Any, float]], unit: str, width: int) -> Any | None:
    """Points (predicted, measured) beside the diagonal and a band of a tenth around it; null without points."""
    import altair

    if not pairs:
        return None
    furthest = max(max(predicted, measured) for predicted, measured in pairs) * 1.12
    scale = altair.Scale(domain=[0, furthest], nice=False)
    x = altair.X("measured:Q", scale=scale, axis=_axis(f"measured ({unit})", furthest))
    y = altair.Y("predicted:Q", scale=scale, axis=_axis(f"predicted ({unit})", furthest))
    ends = [
        {"measured": end, "predicted": end, "low": end * (1 - TOLERANCE), "high": end * (1 + TOLERANCE)}
        for end in (0.0, furthest)
    ]
    line = altair.Chart(rows_data(ends))
    band = line.mark_area(color=FAINT, opacity=0.9, clip=True).encode(x=x, y=altair.Y("low:Q"), y2="high:Q")
    diagonal = line.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1.4, clip=True).encode(x=x, y=y)
    rows = [{"measured": measured, "predicted": predicted} for predicted, measured in pairs]
    points = altair.Chart(rows_data(rows)).mark_circle(color=BLUE, size=60, opacity=0.9).encode(x=x, y=y)
    title = f"Predicted and measured (band ±{TOLERANCE:.0%})".replace("%", " %")
    return altair.layer(band, diagonal, points).properties(width=width, height=HEIGHT, title=panel_title(title))


def _axis(title: str, furthest: float) -> Any:
    import altair

    return altair.Axis(title=title, grid=False, tickCount=4, format=",d" if furthest >= 20 else ",.2~f")
