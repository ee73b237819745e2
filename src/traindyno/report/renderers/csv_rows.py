"""One row per curve point, probe or planned size; plain numbers, units in the column names."""

import csv
import io
import math

from traindyno.core.answers import Document
from traindyno.report.document import is_simulated
from traindyno.report.view import Number
from traindyno.report.views import view_of
from traindyno.report.wording import one_line


def render_csv(document: Document) -> str:
    """Comma-separated values with one heading line; what is unknown is empty."""
    sheet = view_of(document).sheet(document)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*sheet.columns, "simulated"))
    simulated = _cell(is_simulated(document))
    writer.writerows([(*map(_cell, row), simulated) for row in sheet.rows])
    return text.getvalue()


def _cell(value: Number) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return one_line(value, 400) if isinstance(value, str) else str(value)
