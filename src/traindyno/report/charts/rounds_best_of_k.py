"""What searching longer would give: the score to be expected of the best of k draws."""

from typing import Any

from traindyno.core.answers import BestOfK, Document, RoundAnswer
from traindyno.report.charts.rounds_runs import arm_color, names_of
from traindyno.report.charts.rounds_scores import better_words, round_scores
from traindyno.report.charts.style import HEIGHT, WIDTH, chart_title, finished, rows_data
from traindyno.report.wording import known

SATURATED = {True: "saturated", False: "still gaining", None: "too few runs to tell"}
FEW_DRAWS = 10
"""Up to so many each has its tick: left to itself, an axis of two or three draws is ticked at halves."""
NOTE = "shaded: 95 % interval; flat at its end: more draws add little"


def best_of_k_chart(document: Document) -> dict[str, Any] | None:
    """A line with its band for each arm, whose label says whether it is saturated; null when no arm has a score."""
    import altair

    answer: RoundAnswer = document.answer
    scores = round_scores(answer)
    rows = {row.arm: row for row in answer.best_of_k if any(map(known, row.expected))}
    if not rows:
        return None
    labels = {arm: _label(name, rows.get(arm)) for arm, name in names_of(answer).items()}
    points = [point for row in rows.values() for point in _points(row, labels.get(row.arm, row.arm))]
    axis = altair.Axis(title=f"{better_words(scores)}, expected", format=scores.axis_format, tickCount=5)
    low = altair.Y("low:Q", scale=altair.Scale(zero=False, nice=True), axis=axis)
    value = altair.Y("value:Q", scale=altair.Scale(zero=False, nice=True), axis=axis)
    chart = altair.Chart(rows_data(points)).encode(x=_x(points), color=arm_color(list(labels.values())))
    band = chart.mark_area(opacity=0.13).encode(y=low, y2="high:Q")
    lines = chart.mark_line(strokeWidth=2.2, point={"size": 36, "aria": False}).encode(y=value)
    title = f"The best of k draws{'' if len(labels) > 1 else f': {SATURATED[next(iter(rows.values())).saturated]}'}"
    whole = altair.layer(band, lines).properties(width=WIDTH, height=HEIGHT)
    return finished(whole.properties(title=chart_title(document, title, note=NOTE)))


def _label(name: str, row: BestOfK | None) -> str:
    return name if row is None else f"{name}: {SATURATED[row.saturated]}"


def _points(row: BestOfK, label: str) -> list[dict[str, Any]]:
    """Up to the last draw that is known; a band that is not known has no width."""
    ends = zip(row.expected, row.low, row.high, strict=False)
    return [
        {
            "k": k,
            "arm": label,
            "value": value,
            "low": low if known(low) else value,
            "high": high if known(high) else value,
        }
        for k, (value, low, high) in enumerate(ends, start=1)
        if known(value)
    ]


def _x(points: list[dict[str, Any]]) -> Any:
    import altair

    most = max(point["k"] for point in points)
    few: dict[str, Any] = {"values": list(range(1, most + 1))} if most <= FEW_DRAWS else {}
    axis = altair.Axis(title="draws k", tickMinStep=1, format="d", grid=False, **few)
    return altair.X("k:Q", scale=altair.Scale(domain=[1, max(2, most)], nice=False), axis=axis)
