"""The parallel view: every run as a line over all its parameters to its score, the better ones darker."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.rounds import RoundTrial
from traindyno.report.charts.rounds_parameters import ParameterAxis, domain_of, parameter_axes, unit_on
from traindyno.report.charts.rounds_runs import arm_names, searched_runs, short, value_text
from traindyno.report.charts.rounds_scores import Scores, Window, round_scores, window_of
from traindyno.report.charts.style import (
    BLUE,
    GREY,
    INK,
    LABEL_SIZE,
    PALE_GREY,
    RED,
    WIDTH,
    chart_title,
    finished,
    rows_data,
)
from traindyno.report.wording import known

HEIGHT, ABSENT, AIR = 300, -0.12, 0.04
CROWDED, MOST_CHOICES = 5, 8
DARKENING = 3
"""Only the best of many runs are dark."""
HEADING = "Every run over all its parameters"
NOTE, LACKING = "darker: better; dashed: no score", "dots below: the run has no such parameter"


def parallel_chart(document: Document) -> dict[str, Any] | None:
    """Null when there is no run to draw, or nothing but its score."""
    import altair

    answer: RoundAnswer = document.answer
    runs, scores = searched_runs(answer), round_scores(answer)
    axes = [*_target_axis(answer), *parameter_axes(document)]
    if not runs or not axes:
        return None
    window = window_of(scores, [run.score for run in runs if run.feasible])
    domains = [domain_of(axis, [run.draw.values.get(axis.name) for run in runs]) for axis in axes]
    names = arm_names([*(axis.name for axis in axes), f"{scores.name} →"], 22 if len(axes) < CROWDED else 16)
    points = _points(_from_worst(runs, scores), axes, domains, window, list(names.values()))
    lacking = any(point["absent"] for point in points)
    lowest = (ABSENT if lacking else 0.0) - AIR
    y = altair.Y("unit:Q", scale=altair.Scale(domain=[lowest, 1 + AIR], nice=False), axis=None)
    x, ends = _x(list(names.values())), _ends(axes, domains, scores, window, list(names.values()))
    layers = [_rules(list(names.values()), x, y), *_lines(points, x, y), _absent(points, x, y), _labels(ends, x, y)]
    chart = altair.layer(*[layer for layer in layers if layer is not None]).properties(width=WIDTH + 40, height=HEIGHT)
    note = f"{NOTE}; {LACKING}" if lacking else NOTE
    return finished(chart.properties(title=chart_title(document, HEADING, note=note)))


def _target_axis(answer: RoundAnswer) -> list[ParameterAxis]:
    if answer.target is None:
        return []
    values = ((run.draw.arm, run.draw.values.get(answer.target)) for run in searched_runs(answer))
    drawn = {arm: value_text(value) for arm, value in values if value is not None}
    choices = tuple(dict.fromkeys([*(drawn.get(row.arm, row.arm) for row in answer.arms), *drawn.values()]))
    return [ParameterAxis(name=answer.target, field=answer.target, kind="choice", choices=choices)]


def _from_worst(runs: Sequence[RoundTrial], scores: Scores) -> list[RoundTrial]:
    """The best are drawn last, over the others; those without a score first."""
    sign = 1 if scores.higher_is_better else -1
    return sorted(runs, key=lambda run: (_has_score(run), sign * (run.score or 0.0) if _has_score(run) else 0.0))


def _has_score(run: RoundTrial) -> bool:
    return run.feasible and known(run.score)


def _points(
    runs: Sequence[RoundTrial],
    axes: Sequence[ParameterAxis],
    domains: Sequence[tuple[float, float]],
    window: Window,
    names: Sequence[str],
) -> list[dict[str, Any]]:
    """A place of each run on each axis; a run without a score ends before the last."""
    points = []
    for place, run in enumerate(runs):
        common = {"run": place, "rank": (place / max(1, len(runs) - 1)) ** DARKENING, "scored": _has_score(run)}
        for axis, domain, name in zip(axes, domains, names, strict=False):
            value = run.draw.values.get(axis.name)
            unit = None if value is None else unit_on(axis, value, domain)
            points.append(common | {"axis": name, "unit": ABSENT if unit is None else unit, "absent": unit is None})
        if _has_score(run) and run.score is not None:
            height = (window.shown(run.score) - window.edge) / (window.high - window.edge)
            points.append(common | {"axis": names[-1], "unit": height, "absent": False})
    return points


def _x(names: list[str]) -> Any:
    import altair

    angle = 0 if len(names) <= CROWDED else -35
    axis = altair.Axis(title=None, labelAngle=angle, domain=False, ticks=False, labelLimit=150, labelPadding=6)
    return altair.X("axis:N", sort=names, scale=altair.Scale(domain=names, type="point", padding=0.5), axis=axis)


def _rules(names: list[str], x: Any, y: Any) -> Any:
    import altair

    rows = [{"axis": name, "unit": 0.0, "end": 1.0} for name in names]
    return altair.Chart(rows_data(rows)).mark_rule(color=PALE_GREY, strokeWidth=1.2).encode(x=x, y=y, y2="end:Q")


def _lines(points: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    import altair

    scored = [point for point in points if point["scored"]]
    others = [point for point in points if not point["scored"]]
    rank = altair.Color("rank:Q", scale=altair.Scale(domain=[0, 1], range=["#DCE6EE", BLUE, "#0B2B45"]), legend=None)
    bold = altair.StrokeWidth("rank:Q", scale=altair.Scale(domain=[0, 1], range=[0.8, 2.4]), legend=None)
    dashes: dict[str, Any] = {"color": RED, "opacity": 0.55, "strokeWidth": 1, "strokeDash": [4, 3], "aria": False}
    dashed = altair.Chart(rows_data(others)).mark_line(**dashes)
    lines = altair.Chart(rows_data(scored)).mark_line(aria=False).encode(color=rank, strokeWidth=bold)
    return [each.encode(x=x, y=y, detail="run:O") for each, wanted in ((dashed, others), (lines, scored)) if wanted]


def _absent(points: list[dict[str, Any]], x: Any, y: Any) -> Any | None:
    import altair

    away = [{"axis": name, "unit": ABSENT} for name in dict.fromkeys(p["axis"] for p in points if p["absent"])]
    return altair.Chart(rows_data(away)).mark_point(color=GREY, filled=True, size=36).encode(x=x, y=y) if away else None


def _ends(
    axes: Sequence[ParameterAxis],
    domains: Sequence[tuple[float, float]],
    scores: Scores,
    window: Window,
    names: Sequence[str],
) -> list[dict[str, Any]]:
    """What is written beside the axes: both ends of a range, every choice, both ends of the scores."""
    ends = []
    for axis, domain, name in zip(axes, domains, names, strict=False):
        values = axis.choices if axis.kind == "choice" else (axis.low, axis.high)
        kept = values if len(values) <= MOST_CHOICES else (values[0], values[-1])
        units = ((value_text(value), unit_on(axis, value, domain)) for value in kept)
        ends += [{"axis": name, "unit": unit, "words": short(text, 14)} for text, unit in units if unit is not None]
    ticks = ((0.0, window.edge), (1.0, window.high)) if window.has_scores else ()
    return [*ends, *({"axis": names[-1], "unit": unit, "words": scores.words(value)} for unit, value in ticks)]


def _labels(ends: list[dict[str, Any]], x: Any, y: Any) -> Any:
    import altair

    chart = altair.Chart(rows_data(ends))
    text: dict[str, Any] = {"align": "left", "dx": 4, "fontSize": LABEL_SIZE - 3}
    halo = chart.mark_text(**text, stroke="white", strokeWidth=3, aria=False).encode(x=x, y=y, text="words:N")
    return altair.layer(halo, chart.mark_text(**text, color=INK).encode(x=x, y=y, text="words:N"))
