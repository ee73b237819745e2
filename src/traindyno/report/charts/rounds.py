"""A round in one picture: what to expect of each target value, and every run by each searched parameter."""

from typing import Any

from traindyno.core.answers import Document, RoundAnswer
from traindyno.report.charts.rounds_axes import HEADING, NOTE, axes_panels
from traindyno.report.charts.rounds_isolation import isolation_panel
from traindyno.report.charts.style import GREY, chart_title, finished
from traindyno.report.wording import one_line


def round_chart(document: Document) -> dict[str, Any] | None:
    """Isolation above the axis plots; null when nothing ran."""
    import altair

    answer: RoundAnswer = document.answer
    above, below = isolation_panel(document, titled=True), axes_panels(document)
    if below is not None:
        words = altair.TitleParams(
            text=HEADING, subtitle=NOTE, fontSize=14, subtitleColor=GREY, anchor="start", offset=8
        )
        below = below.properties(title=words)
    panels = [panel for panel in (above, below) if panel is not None]
    if not panels:
        return None
    question = one_line(answer.question or f"Round {answer.round}", 84)
    whole = altair.vconcat(*panels, spacing=26).resolve_scale(color="independent", shape="independent")
    return finished(whole.properties(title=chart_title(document, question)))
