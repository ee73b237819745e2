"""Curves of runs that learn: accuracy and loss over the examples seen, or over the seconds of training."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from traindyno.core.answers import Document
from traindyno.core.learning import Metric, Target
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import one_line

Run = tuple[str, Mapping[str, Any]]
"""What to call a run, and what its trial told of its learning."""
Axis = Literal["examples", "seconds"]
Panel = tuple[str, list[dict[str, Any]], Any, float | None]
"""Its heading, the points of its lines, the axis of their values, and the target among these."""
COLORS = (BLUE, ORANGE, GREEN, RED, PINK, SKY, PURPLE, GREY)
MOST_POINTS = 200
PANEL_HEIGHT = 230
LOGARITHMIC_FROM = 10.0
"""A loss that falls by more than this factor would else look flat for most of the run."""


def train_chart(document: Document) -> dict[str, Any] | None:
    """The curves of the one run; null when its trial cannot be read."""
    answer = document.answer
    curves = learning_curves([("this run", learning) for _, learning in learnings(document)][:1])
    if curves is None:
        return None
    words = setting_words(document, f"batch {answer.batch_size}", f"lr {answer.learning_rate:g}")
    title = f"{one_line(answer.model, 40)} on {one_line(answer.data, 30)} ({words})"
    return finished(curves.properties(title=chart_title(document, title)))


def learnings(document: Document) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The document's trials that learnt, each with what it told of that."""
    told = ((entry, (entry.get("measurement") or {}).get("learning")) for entry in document.trials)
    return [(entry, learning) for entry, learning in told if learning and learning.get("evaluations")]


def learning_curves(runs: Sequence[Run], x: Axis = "examples", target: Target | None = None) -> Any | None:
    """A panel of accuracy, where there is one, above a panel of the loss; runs of equal labels share a colour.

    A single run also shows its loss while it trains. A target is a line across its panel. Null when there is nothing
    to draw. The caller gives the title.
    """
    import altair

    points = [point for number, run in enumerate(runs) for point in _points(number, *run, x)]
    accurate = [point for point in points if point["what"] == "accuracy"]
    losses = [point for point in points if point["what"] != "accuracy" and (len(runs) == 1 or point["what"] == "loss")]
    panels = [_accuracy_panel(accurate, _value(target, "accuracy"))] if accurate else []
    panels += [_loss_panel(losses, _value(target, "loss"), alone=len(runs) == 1)] if losses else []
    if not panels:
        return None
    axis, color = _x_axis(points, x), _color(list(dict.fromkeys(label for label, _ in runs)))
    drawn = [_drawn(panel, axis, color) for panel in panels]
    return altair.vconcat(*drawn, spacing=16).resolve_scale(color="shared")


def _value(target: Target | None, metric: Metric) -> float | None:
    return target.value if target is not None and target.metric == metric else None


def _drawn(panel: Panel, x: Any, color: Any) -> Any:
    """A line for each run, and one across at the target, where the panel has it."""
    import altair

    title, points, y, target = panel
    across = altair.Chart(rows_data([{"value": target}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=y)
    layers = (_lines(points, y).encode(x=x, color=color), *([across] if target is not None else []))
    return altair.layer(*layers).properties(width=WIDTH, height=PANEL_HEIGHT, title=panel_title(title))


def _points(number: int, label: str, learning: Mapping[str, Any], x: Axis) -> Iterator[dict[str, Any]]:
    evaluations = learning.get("evaluations") or []
    every = max(1, math.ceil(len(evaluations) / MOST_POINTS))
    kept = [each for at, each in enumerate(evaluations) if at % every == 0 or at == len(evaluations) - 1]
    for each in kept:
        for what in ("accuracy", "loss", "training_loss"):
            at, value = each.get(x), each.get(what)
            if at is not None and value is not None and math.isfinite(value):
                yield {"at": at, "value": value, "what": what, "run": number, "label": one_line(label, 40)}


def _accuracy_panel(points: list[dict[str, Any]], target: float | None) -> Panel:
    import altair

    lowest = min(_values(points, target))
    scale = altair.Scale(domain=[max(0.0, lowest - 0.05), 1], nice=True, zero=False)
    y = altair.Y("value:Q", scale=scale, axis=altair.Axis(title=None, format=".0%", tickCount=5))
    return _titled("Accuracy on the evaluation examples", target), points, y, target


def _loss_panel(points: list[dict[str, Any]], target: float | None, *, alone: bool) -> Panel:
    import altair

    values = _values(points, target)
    falls_far = min(values) > 0 and max(values) > LOGARITHMIC_FROM * min(values)
    scale = altair.Scale(type="log", nice=True) if falls_far else altair.Scale(zero=False, nice=True)
    y = altair.Y("value:Q", scale=scale, axis=altair.Axis(title=None, tickCount=5))
    words = "Loss on the evaluation examples"
    title = f"{words}; dashed: while training" if alone else words
    return _titled(title, target), points, y, target


def _values(points: list[dict[str, Any]], target: float | None) -> list[float]:
    """All that an axis must hold."""
    return [point["value"] for point in points] + ([] if target is None else [target])


def _titled(words: str, target: float | None) -> str:
    return words if target is None else f"{words}; across: the target"


def _lines(points: list[dict[str, Any]], y: Any) -> Any:
    """One line for each run, with dots where the points are few enough to be told apart."""
    import altair

    base = altair.Chart(rows_data(points))
    dashes = altair.Scale(domain=["accuracy", "loss", "training_loss"], range=[[1, 0], [1, 0], [5, 4]])
    dashed = altair.StrokeDash("what:N", scale=dashes, legend=None)
    few = len(points) <= 60
    return base.mark_line(strokeWidth=1.8, point=few).encode(y=y, detail="run:N", strokeDash=dashed)


def _x_axis(points: list[dict[str, Any]], x: Axis) -> Any:
    import altair

    title = "training examples seen" if x == "examples" else "seconds of training"
    labels = f"format(datum.value, '{'~s' if x == 'examples' else ',~r'}')"
    axis = altair.Axis(title=title, labelExpr=labels, grid=False, tickCount=8)
    farthest = max(point["at"] for point in points)
    return altair.X("at:Q", scale=altair.Scale(domain=[0, farthest], nice=False), axis=axis)


def _color(labels: list[str]) -> Any:
    """A colour for each label, in their order; a single one needs no legend."""
    import altair

    names = [one_line(label, 40) for label in labels]
    colors = [COLORS[number % len(COLORS)] for number in range(len(names))]
    legend = altair.Legend(orient="top", title=None) if len(names) > 1 else None
    return altair.Color("label:N", scale=altair.Scale(domain=names, range=colors), legend=legend, title=None)
