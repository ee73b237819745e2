"""Dots with intervals on a line of equal speed: how much faster each of several things is."""

import math
from typing import Any

from traindyno.core.answers import Interval
from traindyno.report.charts.style import GREY, INK, LABEL_SIZE, WIDTH, panel_title, rows_data
from traindyno.report.wording import one_line

ROW_STEP = 26
WHOLE_WIDTH, LETTER_WIDTH, LONGEST_NAME = 800, 6.6, 345
WIDEST_DOWN, WIDEST_UP = 0.7, 1.4


def ratio_row(name: str, ratio: float, interval: Interval | None, state: str) -> dict[str, Any]:
    """One dot; without an interval it may lie anywhere. `state` is what its colour tells."""
    low, high = (0.0, math.inf) if interval is None or any(map(math.isnan, interval)) else interval
    label = f"{ratio:.2f}×"
    return {"name": one_line(name, 60), "ratio": ratio, "low": low, "high": high, "state": state, "label": label}


def ratios_panel(rows: list[dict[str, Any]], state_colors: dict[str, str], title: str | None = None) -> Any:
    """The rows from above to below, each with its interval; where that is cut, an arrow says that it goes on.

    With a title it is one panel among several.
    """
    import altair

    lowest, highest = _ends(rows)
    arrows = [*_cut(rows, "low", lowest, "triangle-left"), *_cut(rows, "high", highest, "triangle-right")]
    rows = [row | {"low": max(row["low"], lowest), "high": min(row["high"], highest)} for row in rows]
    room = highest - lowest
    scale = altair.Scale(domain=[max(0.0, lowest - 0.08 * room), highest + 0.16 * room], nice=False, zero=False)
    words = f"speed (1 = the same{'; arrow: the interval goes on' if arrows else ''})"
    x = altair.X("ratio:Q", scale=scale, axis=altair.Axis(title=words, format=".2~f", tickCount=8))
    names = altair.Axis(title=None, ticks=False, domain=False, labelLimit=LONGEST_NAME, labelPadding=8)
    y = altair.Y("name:N", sort=None, axis=names)
    states = list(dict.fromkeys(row["state"] for row in rows))
    colors = altair.Scale(domain=states, range=[state_colors[state] for state in states])
    color = altair.Color("state:N", scale=colors, title=None, legend=altair.Legend(orient="top", symbolSize=110))
    chart = altair.Chart(rows_data(rows))
    same = altair.Chart(rows_data([{"ratio": 1.0}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=x)
    spans = chart.mark_rule(strokeWidth=2.4).encode(x=altair.X("low:Q", scale=scale), x2="high:Q", y=y, color=color)
    dots = chart.mark_point(size=80, filled=True, opacity=1).encode(x=x, y=y, color=color)
    tips = altair.Chart(rows_data(arrows)).mark_point(size=70, filled=True, opacity=1)
    tips = tips.encode(x=x, y=y, color=color, shape=altair.Shape("shape:N", scale=None))
    text: dict[str, Any] = {"align": "left", "dx": 10, "fontSize": LABEL_SIZE - 1}
    # A label may lie on the line of equal speed, which must not go through it.
    halo = chart.mark_text(**text, stroke="white", strokeWidth=5, strokeJoin="round", aria=False)
    labels = (
        mark.encode(x=altair.X("high:Q", scale=scale), y=y, text="label:N")
        for mark in (halo, chart.mark_text(**text, color=INK))
    )
    layers = altair.layer(same, *labels, spans, dots, *([tips] if arrows else []))
    if title is None:
        return layers.properties(width=_width_alone(rows), height={"step": ROW_STEP})
    return layers.properties(width=WIDTH, height={"step": ROW_STEP}, title=panel_title(title))


def _width_alone(rows: list[dict[str, Any]]) -> float:
    """What the names leave, so that text is as large in one picture as in another."""
    return WHOLE_WIDTH - min(LONGEST_NAME, LETTER_WIDTH * max(len(row["name"]) for row in rows))


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """From the lowest to the highest end; a very wide interval is cut rather than squeezing all others together."""
    ratios = [1.0, *(row["ratio"] for row in rows)]
    lowest, highest = min(1.0, *(row["low"] for row in rows)), max(1.0, *(row["high"] for row in rows))
    return max(lowest, WIDEST_DOWN * min(ratios)), min(highest, WIDEST_UP * max(ratios))


def _cut(rows: list[dict[str, Any]], end: str, at: float, shape: str) -> list[dict[str, Any]]:
    """An arrow for every interval that goes on beyond this end of the picture."""
    beyond = [row for row in rows if (row[end] < at if end == "low" else row[end] > at)]
    return [{"name": row["name"], "ratio": at, "state": row["state"], "shape": shape} for row in beyond]
