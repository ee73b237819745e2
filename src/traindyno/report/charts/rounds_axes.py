"""Axis plots: a panel for each searched parameter with every run, also those that have no score."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.rounds import RoundTrial
from traindyno.report.charts.rounds_parameters import ParameterAxis, domain_of, log_ticks, number_on, parameter_axes
from traindyno.report.charts.rounds_runs import (
    ENDINGS,
    SEEDS,
    SHAPES,
    WORSE,
    arm_color,
    legend_of,
    names_of,
    short,
    value_text,
)
from traindyno.report.charts.rounds_scores import (
    Scores,
    Window,
    better_words,
    round_scores,
    score_axis,
    score_scale,
    window_of,
)
from traindyno.report.charts.style import FAINT, GREY, INK, LABEL_SIZE, WIDTH, chart_title, finished, rows_data
from traindyno.report.wording import known

PANEL_HEIGHT, PANEL_GAP, AXIS_WIDTH = 160, 24, 52
HEADING = "Every run by each searched parameter"
NOTE = "Line: the incumbent; grey edges: the range; below the axis: runs without a score"
TICKS = "datum.value != 0 && abs(datum.value) < 0.001 ? format(datum.value, '.1~e') : format(datum.value, '.4~g')"
POINT_SIZE = 36
"""A radius of three makes for the shortest path, of which a page may have thousands."""
JITTER = 0.6180339887
"""The golden ratio spreads runs of equal choice evenly, and the same way each time."""


def axes_chart(document: Document) -> dict[str, Any] | None:
    """The panels alone; null when nothing was searched or nothing ran."""
    panels = axes_panels(document)
    if panels is None:
        return None
    return finished(panels.properties(title=chart_title(document, HEADING, note=NOTE)))


def axes_panels(document: Document) -> Any | None:
    """Panels in rows of up to three, with one axis of scores for all of them."""
    import altair

    answer: RoundAnswer = document.answer
    axes, scores, names = parameter_axes(document), round_scores(answer), names_of(answer)
    if not axes or not answer.runs:
        return None
    window = window_of(scores, [run.score for run in answer.runs if run.feasible], answer.incumbent_scores)
    points = [_point(run, names, window) for run in answer.runs]
    columns = min(len(axes), 2 if len(axes) == 4 else 3)
    width = (WIDTH + AXIS_WIDTH - columns * PANEL_GAP) / columns - AXIS_WIDTH / columns
    looks = {
        "color": arm_color(list(names.values()), seeds=any(point["arm"] == SEEDS for point in points)),
        "shape": _shape([point["ending"] for point in points]),
    }
    panels = []
    for place, axis in enumerate(axes):
        y = _score(scores, window, is_first=place % columns == 0)
        panel = _panel(axis, _placed(axis, answer.runs, points), y, window, looks)
        panels.append(panel.properties(width=width, height=PANEL_HEIGHT))
    whole = altair.concat(*panels, columns=columns, spacing={"row": 26, "column": PANEL_GAP})
    return whole.resolve_scale(color="shared", shape="shared", x="independent", y="independent", xOffset="independent")


def _point(run: RoundTrial, names: dict[str, str], window: Window) -> dict[str, Any]:
    """A run with its arm, its ending, and the height at which it is drawn."""
    arm = SEEDS if run.draw.phase == "gate" else names[run.draw.arm]
    if not run.feasible or run.score is None or not known(run.score):
        return {"arm": arm, "ending": ENDINGS["failed" if run.feasible else run.ending], "score": window.strip}
    ending = WORSE if window.is_beyond(run.score) else ENDINGS[run.ending]
    return {"arm": arm, "ending": ending, "score": window.shown(run.score)}


def _placed(axis: ParameterAxis, runs: Sequence[RoundTrial], points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points of the runs that have the parameter, with its value; the incumbent's have it by its field."""
    placed = []
    for number, (run, point) in enumerate(zip(runs, points, strict=True)):
        value = run.draw.values.get(axis.name, axis.incumbent if run.draw.phase == "gate" else None)
        if value is not None and axis.kind == "choice":
            placed.append(point | {"at": short(value_text(value), 16), "beside": number * JITTER % 1})
        elif (at := number_on(axis, value)) is not None:
            placed.append(point | {"at": at})
    return placed


def _score(scores: Scores, window: Window, *, is_first: bool) -> Any:
    """Only the first panel of a row has its labels."""
    import altair

    axis = score_axis(scores, window, better_words(scores) if is_first else None, shown=is_first)
    return altair.Y("score:Q", scale=score_scale(window), axis=axis)


def _shape(endings: Sequence[str]) -> Any:
    """A shape for each way in which runs ended; a legend where some did otherwise than in full."""
    import altair

    found = [ending for ending in SHAPES if ending in endings]
    scale = altair.Scale(domain=found, range=[SHAPES[ending] for ending in found])
    legend = legend_of(found, "bottom") if found != ["finished"] else None
    return altair.Shape("ending:N", scale=scale, title=None, legend=legend)


def _panel(axis: ParameterAxis, points: list[dict[str, Any]], y: Any, window: Window, looks: dict[str, Any]) -> Any:
    import altair

    x = _choices(axis) if axis.kind == "choice" else _numbers(axis, points)
    marks = altair.Chart(rows_data(points)).mark_point(size=POINT_SIZE, opacity=0.75, strokeWidth=1.3, aria=False)
    encoded = marks.encode(x=x, y=y, **looks)
    if axis.kind == "choice":
        encoded = encoded.encode(xOffset=altair.XOffset("beside:Q", scale=altair.Scale(domain=[-0.7, 1.7])))
    floor = altair.Chart(rows_data([{"score": window.edge}])).mark_rule(color=FAINT, strokeWidth=1.5).encode(y=y)
    title = altair.TitleParams(text=short(axis.name, 30), fontSize=LABEL_SIZE, fontWeight=600, anchor="start", offset=6)
    return altair.layer(floor, *_lines(axis, x), encoded).properties(title=title)


def _numbers(axis: ParameterAxis, points: list[dict[str, Any]]) -> Any:
    import altair

    low, high = domain_of(axis, [*(point["at"] for point in points), axis.incumbent])
    scale = altair.Scale(type="log" if axis.kind == "log" else "linear", domain=[low, high], nice=False, zero=False)
    ticks = {"values": log_ticks(low, high)} if axis.kind == "log" else {"tickCount": 4}
    words = altair.Axis(title=None, grid=False, labelExpr=TICKS, labelOverlap="greedy", labelFlush=False, **ticks)
    return altair.X("at:Q", scale=scale, axis=words)


def _choices(axis: ParameterAxis) -> Any:
    import altair

    names = [short(choice, 16) for choice in axis.choices]
    angle = 0 if sum(map(len, names)) <= 24 else -30
    words = altair.Axis(title=None, grid=False, labelAngle=angle, labelLimit=110)
    return altair.X("at:N", sort=names, scale=altair.Scale(domain=names), axis=words)


def _lines(axis: ParameterAxis, x: Any) -> list[Any]:
    """The ends of the range, and the incumbent's value where it lies on the axis."""
    import altair

    if axis.kind == "choice":
        has_one = axis.incumbent is not None and value_text(axis.incumbent) in axis.choices
        at: Any = short(value_text(axis.incumbent), 16) if has_one and axis.incumbent is not None else None
        ends = []
    else:
        at, ends = number_on(axis, axis.incumbent), [{"at": axis.low}, {"at": axis.high}]
    edges = altair.Chart(rows_data(ends)).mark_rule(color=GREY, opacity=0.55, strokeWidth=1)
    line = altair.Chart(rows_data([{"at": at}])).mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.3)
    return [each.encode(x=x) for each, wanted in ((edges, bool(ends)), (line, at is not None)) if wanted]
