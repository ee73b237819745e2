"""A loader study in one picture: rate against workers, stages, predictions against measurements, the grid."""

from typing import Any

from traindyno.core.answers import Document, LoaderAnswer
from traindyno.report.charts.heat_map import heat_map_panel
from traindyno.report.charts.prediction import prediction_panel
from traindyno.report.charts.stages import stages_panel
from traindyno.report.charts.style import WIDTH, chart_title, finished
from traindyno.report.charts.workers import workers_panel
from traindyno.report.conditions import setting_words
from traindyno.report.wording import known, one_line

STAGES_WIDTH, PREDICTION_WIDTH = 330, 220


def loader_chart(document: Document) -> dict[str, Any] | None:
    """The panels for which there are figures, one below the other; null when there is none."""
    import altair

    answer: LoaderAnswer = document.answer
    found = (workers_panel(answer), _parts(answer), heat_map_panel(answer))
    panels = [panel for panel in found if panel is not None]
    if not panels:
        return None
    words = setting_words(document, f"batch {answer.batch_size}")
    title = chart_title(document, f"Loader of {one_line(answer.data, 48)} ({words})")
    return finished(altair.vconcat(*panels, spacing=26).properties(title=title))


def _parts(answer: LoaderAnswer) -> Any | None:
    """Stages on the left; on the right what was predicted against what was measured."""
    import altair

    pairs = [
        (predicted, point.examples_per_second)
        for point in answer.points
        if known(predicted := point.predicted_examples_per_second) and known(point.examples_per_second)
    ]
    scatter = prediction_panel(pairs, "examples/s", PREDICTION_WIDTH)
    stages = stages_panel(answer.stages, STAGES_WIDTH if scatter is not None else WIDTH)
    sides = [side for side in (stages, scatter) if side is not None]
    return altair.hconcat(*sides, spacing=40) if sides else None
