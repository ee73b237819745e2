"""The gain that was promised and the one measured now, each with its interval."""

from typing import Any

from traindyno.core.answers import Document, VerifyAnswer
from traindyno.report.charts.ratios import ratio_row, ratios_panel
from traindyno.report.charts.style import BLUE, GREEN, ORANGE, RED, chart_title, finished
from traindyno.report.wording import known, one_line

PROMISED = "promised"
SAME = "measured now: the baseline's own settings"
MEASURED = {True: "measured now: holds", False: "measured now: does not hold", None: "measured now: open"}
COLORS = {PROMISED: BLUE, MEASURED[True]: GREEN, MEASURED[False]: RED, MEASURED[None]: ORANGE, SAME: BLUE}


def verify_chart(document: Document) -> dict[str, Any] | None:
    """Two dots above each other; null when nothing was measured."""
    answer: VerifyAnswer = document.answer
    if not known(answer.speedup):
        return None
    changes = bool(answer.recommended.changes)
    rows = [ratio_row("measured now", answer.speedup, answer.speedup_ci95, MEASURED[answer.holds] if changes else SAME)]
    if changes and answer.promised_speedup is not None and known(answer.promised_speedup):
        rows.insert(0, ratio_row(PROMISED, answer.promised_speedup, answer.promised_ci95, PROMISED))
    panel = ratios_panel(rows, COLORS)
    title = chart_title(document, f"Does the gain for {one_line(answer.model, 40)} hold?")
    return finished(panel.properties(title=title))
