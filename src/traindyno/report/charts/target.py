"""How many runs of each way to train have reached the target by when, over seconds and over examples."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from traindyno.analysis.survival import reached_share
from traindyno.core.answers import Document, TargetAnswer, TargetRow
from traindyno.core.learning import Target
from traindyno.report.charts.learning import COLORS, Run, learning_curves, learnings
from traindyno.report.charts.style import GREY, WIDTH, chart_title, finished, panel_title, rows_data
from traindyno.report.wording import one_line

PANEL_HEIGHT, AIR = 150, 1.3
Unit = Literal["seconds", "examples"]
PANELS: dict[Unit, tuple[str, str]] = {
    "seconds": ("Runs that have reached the target, by time", "seconds of training"),
    "examples": ("Runs that have reached the target, by examples", "training examples seen"),
}


def target_chart(document: Document) -> dict[str, Any] | None:
    """Shares of runs over time and over examples, then the curves of all runs; null where trials cannot be read."""
    import altair

    answer: TargetAnswer = document.answer
    runs = [run for row in answer.rows for run in runs_of(document, row)]
    if not runs:
        return None
    panels = [_panel(answer.rows, runs, unit) for unit in PANELS]
    curves = learning_curves(runs, x="seconds", target=Target(metric=answer.metric, value=answer.value))
    title = f"{one_line(answer.model, 40)}: time to {answer.metric} {answer.value:g}"
    chart = altair.vconcat(*panels, *([curves] if curves is not None else []), spacing=18)
    return finished(chart.properties(title=chart_title(document, title)))


def runs_of(document: Document, row: TargetRow) -> list[Run]:
    """The counted runs of a row, by seed."""
    own = [(entry["seed"], learning) for entry, learning in learnings(document) if _belongs(entry, row)]
    ordered: list[Run] = [(row.label, learning) for _, learning in sorted(own, key=lambda run: run[0])]
    return ordered[: row.seeds - row.missing]


def _belongs(entry: dict[str, Any], row: TargetRow) -> bool:
    recipe = entry.get("recipe") or {}
    same_rate = recipe.get("learning_rate") == row.learning_rate
    return bool(recipe.get("target")) and same_rate and entry.get("settings") == row.settings


def _panel(rows: Sequence[TargetRow], runs: Sequence[Run], unit: Unit) -> Any:
    """A step for each run that got there, out of all; lines go on a little behind the last of them."""
    import altair

    heading, axis_title = PANELS[unit]
    crossings = {row.label: _crossings(row, runs, unit) for row in rows}
    farthest = _farthest(crossings, runs, unit)
    points = [point for label, times in crossings.items() for point in _points(label, times, farthest)]
    names = [one_line(label, 40) for label in crossings]
    colors = altair.Scale(domain=names, range=[COLORS[number % len(COLORS)] for number in range(len(names))])
    legend = altair.Legend(orient="top", title=None) if unit == "seconds" and len(names) > 1 else None
    axis = altair.Axis(title=axis_title, format="~s" if unit == "examples" else ",~r", grid=False, tickCount=8)
    x = altair.X("at:Q", scale=altair.Scale(domain=[0, farthest], nice=False), axis=axis)
    y_axis = altair.Axis(title=None, format=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    y = altair.Y("share:Q", scale=altair.Scale(domain=[0, 1]), axis=y_axis)
    half = altair.Chart(rows_data([{"share": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=y)
    lines = altair.Chart(rows_data(points)).mark_line(interpolate="step-after", strokeWidth=2.2)
    drawn = lines.encode(x=x, y=y, color=altair.Color("label:N", scale=colors, legend=legend, title=None))
    return altair.layer(half, drawn).properties(width=WIDTH, height=PANEL_HEIGHT, title=panel_title(heading))


def _crossings(row: TargetRow, runs: Sequence[Run], unit: Unit) -> list[float]:
    """One for each seed; infinite for those that missed or could not be run."""
    ends = [(learning.get("reached") or {}).get(unit) for label, learning in runs if label == row.label]
    known = [math.inf if end is None else float(end) for end in ends]
    return [*known, *[math.inf] * (row.seeds - len(known))]


def _farthest(crossings: Mapping[str, Sequence[float]], runs: Sequence[Run], unit: Unit) -> float:
    """A little behind the last that arrived; the end of the longest run where none did."""
    arrived = [time for times in crossings.values() for time in times if math.isfinite(time)]
    return AIR * max(arrived) if arrived else max(float(learning.get(unit) or 0) for _, learning in runs)


def _points(label: str, times: Sequence[float], farthest: float) -> Iterator[dict[str, Any]]:
    steps = reached_share(times)
    for at, share in zip((*steps.at, farthest), (*steps.share, steps.share[-1]), strict=True):
        yield {"at": at, "share": share, "label": one_line(label, 40)}
