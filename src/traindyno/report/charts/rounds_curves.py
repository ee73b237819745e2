"""Curves of a round's runs: the best of each arm in colour, all others thin behind them."""

import math
from typing import Any

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.rounds import CurvePlace, RoundTrial
from traindyno.report.charts.rounds_runs import arm_color, names_of, searched_runs
from traindyno.report.charts.rounds_scores import Scores, better_words, round_scores, window_of
from traindyno.report.charts.style import GREY, PALE_GREY, WIDTH, chart_title, finished, panel_title, rows_data
from traindyno.report.wording import known

METRIC_HEIGHT, LOSS_HEIGHT, MOST_POINTS, FALLS_FAR = 250, 190, 25, 10.0
DASHES = {"value": [1, 0], "loss": [1, 0], "training_loss": [5, 4]}


def curves_chart(document: Document) -> dict[str, Any] | None:
    """The metric of all runs above the losses of the best; null when no run told of its way."""
    import altair

    answer: RoundAnswer = document.answer
    scores, names = round_scores(answer), names_of(answer)
    runs = [run for run in searched_runs(answer) if run.curve]
    bests = _bests(answer, runs)
    points = [point for number, run in enumerate(runs) for point in _points(run, number, names, ("value",))]
    if not points:
        return None
    best_points = [point for point in points if runs[point["run"]] in bests]
    color = arm_color(list(names.values()))
    panels = [_metric_panel(answer, scores, points, best_points, color)]
    losses = [
        point for number, run in enumerate(bests) for point in _points(run, number, names, ("loss", "training_loss"))
    ]
    panels += [_loss_panel(losses, color)] if losses else []
    chart = altair.vconcat(*panels, spacing=16).resolve_scale(color="shared")
    return finished(chart.properties(title=chart_title(document, "How the runs came there")))


def _bests(answer: RoundAnswer, runs: list[RoundTrial]) -> list[RoundTrial]:
    slots = {(row.arm, row.best_branch, row.best_index, row.best_score) for row in answer.arms}
    return [run for run in runs if (run.draw.arm, run.draw.branch, run.draw.index, run.score) in slots]


def _points(run: RoundTrial, number: int, names: dict[str, str], fields: tuple[str, ...]) -> list[dict[str, Any]]:
    common = {"run": number, "arm": names[run.draw.arm]}
    return [
        common | {"at": round(place.share, 4), "value": value, "what": field}
        for place in _thinned(run.curve)
        for field in fields
        if (value := getattr(place, field)) is not None and known(value)
    ]


def _thinned(curve: tuple[CurvePlace, ...]) -> list[CurvePlace]:
    every = max(1, math.ceil(len(curve) / MOST_POINTS))
    return [place for at, place in enumerate(curve) if at % every == 0 or at == len(curve) - 1]


def _metric_panel(
    answer: RoundAnswer, scores: Scores, points: list[dict[str, Any]], best: list[dict[str, Any]], color: Any
) -> Any:
    """All runs, cut off where only the worst of them are."""
    import altair

    window = window_of(scores, [point["value"] for point in points], [point["value"] for point in best])
    scale = altair.Scale(domain=sorted((window.edge, window.high)), nice=False, zero=False)
    y = altair.Y(
        "value:Q", scale=scale, axis=altair.Axis(title=better_words(scores), format=scores.axis_format, tickCount=5)
    )
    thin = altair.Chart(rows_data(points)).mark_line(
        color=PALE_GREY, strokeWidth=0.8, opacity=0.7, clip=True, aria=False
    )
    layers = [thin.encode(x=_x(titled=False), y=y, detail="run:O")]
    if best:
        bold = altair.Chart(rows_data(best)).mark_line(strokeWidth=2.4, clip=True, point={"size": 26})
        layers.append(bold.encode(x=_x(titled=False), y=y, detail="run:O", color=color))
    words = "The best run of each arm; thin: all others" if len(answer.arms) > 1 else "The best run; thin: all others"
    return altair.layer(*layers).properties(width=WIDTH, height=METRIC_HEIGHT, title=panel_title(words))


def _loss_panel(points: list[dict[str, Any]], color: Any) -> Any:
    import altair

    values = [point["value"] for point in points]
    falls_far = min(values) > 0 and max(values) > FALLS_FAR * min(values)
    scale = altair.Scale(type="log", nice=False) if falls_far else altair.Scale(zero=False, nice=True)
    y = altair.Y("value:Q", scale=scale, axis=altair.Axis(title="loss", tickCount=5))
    dashes = altair.Scale(domain=list(DASHES), range=list(DASHES.values()))
    lines = altair.Chart(rows_data(points)).mark_line(strokeWidth=1.8)
    drawn = lines.encode(
        x=_x(titled=True),
        y=y,
        detail="run:O",
        color=color,
        strokeDash=altair.StrokeDash("what:N", scale=dashes, legend=None),
    )
    title = panel_title("Loss of the best runs on the evaluation examples; dashed: while training")
    return drawn.properties(width=WIDTH, height=LOSS_HEIGHT, title=title)


def _x(*, titled: bool) -> Any:
    import altair

    axis = altair.Axis(title="share of the run" if titled else None, format=".0%", grid=False, titleColor=GREY)
    return altair.X("at:Q", scale=altair.Scale(domain=[0, 1], nice=False), axis=axis)
