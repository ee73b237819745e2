"""Dots with intervals on a line of equal speed: each switch alone, and below it the steps of the combination."""

import math
from typing import Any

from traindyno.core.answers import Combination, Document, Interval, SwitchEffect, SwitchesAnswer
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LABEL_SIZE,
    PALE_GREY,
    RED,
    WIDTH,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.wording import known, one_line

ROW_STEP = 26
WIDEST_DOWN, WIDEST_UP = 0.7, 1.4
ADOPTED, ALONE, SPOILT, KEPT, REFUSED = "adopted", "not adopted", "loss differs", "kept", "not kept"
SPEEDUP = "what is recommended, against the baseline"
COLORS = {ADOPTED: GREEN, ALONE: BLUE, SPOILT: RED, KEPT: GREEN, REFUSED: PALE_GREY, SPEEDUP: INK}


def switches_chart(document: Document) -> dict[str, Any] | None:
    """The switches, the fastest above, and the combination; null when nothing was measured."""
    import altair

    answer: SwitchesAnswer = document.answer
    alone = [_effect_row(effect) for effect in answer.effects if known(effect.ratio)]
    if not alone:
        return None
    alone.sort(key=lambda row: -row["ratio"])
    together = [_rung_row(place, rung) for place, rung in enumerate(answer.combinations, start=1)]
    in_speedup = any(effect.adopted and not effect.with_copies for effect in answer.effects)
    if together and in_speedup:
        together.append(_row(SPEEDUP, answer.speedup, answer.speedup_ci95, SPEEDUP))
    panels = [_panel(alone, "Speed of each switch alone, against the baseline")]
    panels += [_panel(together, "The combination: speed against what was held")] if together else []
    title = chart_title(document, f"Switches of {one_line(answer.model, 40)} ({baseline_words(answer)})")
    whole = altair.vconcat(*panels, spacing=30).resolve_scale(x="independent", color="independent")
    return finished(whole.properties(title=title))


def baseline_words(answer: SwitchesAnswer) -> str:
    """`train, batch 64, fp32, cuda:0`: what each switch is compared with; the first trial has one of them already."""
    settings = (answer.baseline.get(name) for name in ("precision", "device"))
    words = (answer.mode, f"batch {answer.batch_size}", *settings)
    return ", ".join(one_line(word) for word in words if word)


def _effect_row(effect: SwitchEffect) -> dict[str, Any]:
    state = ADOPTED if effect.adopted else SPOILT if effect.loss_agrees is False else ALONE
    return _row(f"{effect.switch}={effect.value}", effect.ratio or 0.0, effect.ci95, state)


def _rung_row(place: int, rung: Combination) -> dict[str, Any]:
    return _row(f"{place}. {rung.tried}", rung.ratio, rung.ci95, KEPT if rung.kept else REFUSED)


def _row(name: str, ratio: float, interval: Interval | None, state: str) -> dict[str, Any]:
    """One without an interval may lie anywhere."""
    low, high = (0.0, math.inf) if interval is None or any(map(math.isnan, interval)) else interval
    label = f"{ratio:.2f}×"
    return {"name": one_line(name, 60), "ratio": ratio, "low": low, "high": high, "state": state, "label": label}


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """From the lowest to the highest end; a very wide interval is cut rather than squeezing all others together.

    Where it is cut, an arrow says that it goes on.
    """
    ratios = [1.0, *(row["ratio"] for row in rows)]
    lowest, highest = min(1.0, *(row["low"] for row in rows)), max(1.0, *(row["high"] for row in rows))
    return max(lowest, WIDEST_DOWN * min(ratios)), min(highest, WIDEST_UP * max(ratios))


def _cut(rows: list[dict[str, Any]], end: str, at: float, shape: str) -> list[dict[str, Any]]:
    """An arrow for every interval that goes on beyond this end of the picture."""
    beyond = [row for row in rows if (row[end] < at if end == "low" else row[end] > at)]
    return [{"name": row["name"], "ratio": at, "state": row["state"], "shape": shape} for row in beyond]


def _panel(rows: list[dict[str, Any]], title: str) -> Any:
    import altair

    lowest, highest = _ends(rows)
    arrows = [*_cut(rows, "low", lowest, "triangle-left"), *_cut(rows, "high", highest, "triangle-right")]
    rows = [row | {"low": max(row["low"], lowest), "high": min(row["high"], highest)} for row in rows]
    room = highest - lowest
    scale = altair.Scale(domain=[max(0.0, lowest - 0.08 * room), highest + 0.16 * room], nice=False, zero=False)
    words = f"speed (1 = the same{'; arrow: the interval goes on' if arrows else ''})"
    x = altair.X("ratio:Q", scale=scale, axis=altair.Axis(title=words, format=".2~f", tickCount=8))
    names = altair.Axis(title=None, ticks=False, domain=False, labelLimit=330, labelPadding=8)
    y = altair.Y("name:N", sort=None, axis=names)
    states = list(dict.fromkeys(row["state"] for row in rows))
    colors = altair.Scale(domain=states, range=[COLORS[state] for state in states])
    color = altair.Color("state:N", scale=colors, title=None, legend=altair.Legend(orient="top", symbolSize=110))
    chart = altair.Chart(rows_data(rows))
    same = altair.Chart(rows_data([{"ratio": 1.0}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=x)
    spans = chart.mark_rule(strokeWidth=2.4).encode(x=altair.X("low:Q", scale=scale), x2="high:Q", y=y, color=color)
    dots = chart.mark_point(size=80, filled=True, opacity=1).encode(x=x, y=y, color=color)
    tips = altair.Chart(rows_data(arrows)).mark_point(size=70, filled=True, opacity=1)
    tips = tips.encode(x=x, y=y, color=color, shape=altair.Shape("shape:N", scale=None))
    labels = chart.mark_text(align="left", dx=10, fontSize=LABEL_SIZE - 1, color=INK).encode(
        x=altair.X("high:Q", scale=scale), y=y, text="label:N"
    )
    layers = altair.layer(same, spans, dots, *([tips] if arrows else []), labels)
    return layers.properties(width=WIDTH, height={"step": ROW_STEP}, title=panel_title(title))
