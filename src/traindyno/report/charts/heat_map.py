"""Workers against batch size, each cell coloured by its rate and carrying it in figures."""

from typing import Any

from traindyno.core.answers import LoaderAnswer
from traindyno.report.charts.style import INK, LABEL_SIZE, ORANGE, WIDTH, panel_title, rows_data
from traindyno.report.wording import known, rate

CELL_HEIGHT = 30
DARK_FROM = 0.62


def heat_map_panel(answer: LoaderAnswer) -> Any | None:
    """The grid as a picture; the recommended cell is framed. Null without a grid."""
    import altair

    measured = [point for point in answer.grid if known(point.examples_per_second)]
    if not measured:
        return None
    fastest = max(point.examples_per_second for point in measured)
    rows = [
        {
            "workers": point.num_workers,
            "batch_size": point.batch_size,
            "rate": point.examples_per_second,
            "label": rate(point.examples_per_second),
            "dark": point.examples_per_second > DARK_FROM * fastest,
            "recommended": _recommended(answer, point.num_workers, point.batch_size),
        }
        for point in measured
    ]
    x = altair.X("batch_size:O", axis=altair.Axis(title="batch size", labelAngle=0, orient="bottom"))
    y = altair.Y("workers:O", sort="descending", axis=altair.Axis(title="workers"))
    scale = altair.Scale(scheme="blues", domain=[0, fastest])
    base = altair.Chart(rows_data(rows))
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        x=x, y=y, color=altair.Color("rate:Q", scale=scale, legend=None)
    )
    ink = altair.condition("datum.dark", altair.value("white"), altair.value(INK))
    words = base.mark_text(fontSize=LABEL_SIZE).encode(x=x, y=y, text="label:N", color=ink)
    chosen = altair.Chart(rows_data(row for row in rows if row["recommended"]))
    frame = chosen.mark_rect(fill=None, stroke=ORANGE, strokeWidth=3).encode(x=x, y=y)
    title = "Examples per second, training" if answer.end_to_end else "Examples per second, the loader alone"
    layers = altair.layer(cells, words, frame)
    return layers.properties(width=WIDTH, height={"step": CELL_HEIGHT}, title=panel_title(title))


def _recommended(answer: LoaderAnswer, workers: int, batch_size: int) -> bool:
    return workers == answer.recommended.num_workers and batch_size == answer.batch_size
