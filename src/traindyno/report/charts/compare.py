"""Two curves in one picture: throughput, or training time, against batch size."""

import re
from typing import Any

from traindyno.core.answers import CompareAnswer, CompareRow, Document
from traindyno.report.charts.plan import time_unit
from traindyno.report.charts.style import (
    BLUE,
    HEIGHT,
    ORANGE,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    rate_axis,
    rows_data,
)
from traindyno.report.wording import known, one_line

_BATCH_KEY = re.compile(r"batch (\d+)")


def compare_chart(document: Document) -> dict[str, Any] | None:
    """The rows that are points of a curve, A and B overlaid; null when there are none."""
    import altair

    answer: CompareAnswer = document.answer
    names = {"a": f"A: {one_line(answer.a, 50)}", "b": f"B: {one_line(answer.b, 50)}"}
    unit, factor = _unit(answer)
    rows: list[dict[str, Any]] = [
        {"batch_size": size, "rate": (value or 0.0) / factor, "study": names[side]}
        for size, row in curve_rows(answer)
        for side, value in (("a", row.a), ("b", row.b))
        if known(value)
    ]
    if not rows:
        return None
    highest = max(row["rate"] for row in rows)
    x, y = batch_axis([row["batch_size"] for row in rows]), rate_axis(highest, highest * 1.1, unit)
    alert = f"UNLIKE: {'; '.join(answer.unlike)}" if answer.unlike else None
    layers = [*_lines(rows, list(names.values()), x, y), _points(rows, list(names.values()), x, y)]
    title = chart_title(document, f"{unit.partition(' (')[0].capitalize()} of A and B", alert)
    return finished(altair.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title))


def _unit(answer: CompareAnswer) -> tuple[str, float]:
    """The title of the axis, and what its unit is in the unit of the figures."""
    if answer.quantity != "training_seconds":
        return "throughput (examples/s)", 1.0
    name, seconds = time_unit(max((row.a or 0.0 for row in answer.rows), default=0.0))
    return f"training time ({name})", seconds


def _lines(rows: list[dict[str, Any]], names: list[str], x: Any, y: Any) -> list[Any]:
    """A drawn through, B dashed."""
    import altair

    charts = [altair.Chart(rows_data(row for row in rows if row["study"] == name)) for name in names]
    return [
        charts[0].mark_line(strokeWidth=2.2, color=BLUE).encode(x=x, y=y),
        charts[1].mark_line(strokeWidth=2.2, color=ORANGE, strokeDash=[6, 3]).encode(x=x, y=y),
    ]


def _points(rows: list[dict[str, Any]], names: list[str], x: Any, y: Any) -> Any:
    """A round, B square, named above the panel."""
    import altair

    colors = altair.Scale(domain=names, range=[BLUE, ORANGE])
    shapes = altair.Scale(domain=names, range=["circle", "square"])
    legend = altair.Legend(orient="top", symbolSize=110, columnPadding=24)
    return (
        altair.Chart(rows_data(rows))
        .mark_point(size=75, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=altair.Color("study:N", scale=colors, title=None, legend=legend),
            shape=altair.Shape("study:N", scale=shapes, title=None, legend=legend),
        )
    )


def curve_rows(answer: CompareAnswer) -> list[tuple[int, CompareRow]]:
    """The rows that compare one batch size (`batch 64`), in order."""
    found = [(_BATCH_KEY.fullmatch(row.key.strip()), row) for row in answer.rows]
    return sorted(((int(match[1]), row) for match, row in found if match), key=lambda pair: pair[0])
