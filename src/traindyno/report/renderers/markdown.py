"""Markdown with the tables in the form in which people keep their notes."""

import re

from traindyno.core.answers import Document
from traindyno.report.conditions import device_name
from traindyno.report.document import is_simulated
from traindyno.report.settings_text import measured_code
from traindyno.report.view import Column, Table
from traindyno.report.views import view_of
from traindyno.report.wording import clean, one_line

_SPECIAL = re.compile(r"([\\`*\[\]<|]|\b_|_\b)")


def render_markdown(document: Document) -> str:
    """Title, what is unlike, the answer, the tables, what they say, and the warnings."""
    view = view_of(document)
    machine = device_name(document)
    first, *others = view.conclusion(document) or ("",)
    verdicts = view.verdicts(document)
    others = [*verdicts, *others] if view.answer_first else others
    blocks = [
        f"## {escape(view.title(document))}",
        "**SIMULATED: these figures were made up by the simulated runner, not measured.**"
        if is_simulated(document)
        else "",
        f"On {escape(machine)}" if machine else "",
        _alerts(view.alerts(document)),
        "\n".join(
            [f"**{escape(first)}**", *(f"- {escape(line)}" for line in others)] if others else [f"**{escape(first)}**"]
        ),
        *(f"```\n{clean(line)}\n```" for line in measured_code(view.adoptions(document))),
        *(_table(table) for table in view.tables(document)),
        "" if view.answer_first else _bullets(verdicts),
        _bullets(tuple(f"Warning: {warning}" for warning in document.warnings)),
        *(f"### {escape(snippet.title)}\n\n```\n{clean(snippet.text)}\n```" for snippet in view.snippets(document)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: object) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", one_line(clean(text), 1000))


def _alerts(alerts: tuple[str, ...]) -> str:
    lines = [f"> - {escape(alert)}" for alert in alerts]
    return "\n".join(["> **UNLIKE: not measured under the same conditions.**", ">", *lines]) if lines else ""


def _bullets(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _table(table: Table) -> str:
    headings = tuple(_heading(column) for column in table.columns)
    rows = [tuple(escape(cell) for cell in row.cells) for row in table.rows]
    widths = [max(len(cells[index]) for cells in (headings, *rows)) for index in range(len(headings))]
    rule = "| " + " | ".join("-" * max(width, 3) for width in widths) + " |"
    lines = [_line(headings, widths), rule, *(_line(cells, widths) for cells in rows)]
    title = [f"### {escape(table.title)}", ""] if table.title else []
    legend = [part for line in table.legend for part in ("", escape(line))]
    return "\n".join([*title, *lines, *legend])


def _heading(column: Column) -> str:
    return f"{column.heading}<br />({column.unit})" if column.unit else column.heading


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(max(width, 3)) for cell, width in zip(cells, widths, strict=True)) + " |"
