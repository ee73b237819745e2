"""Small pieces of a page. Everything that did not come from this package passes through `escape`."""

import html
from collections.abc import Iterable

from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import clean

CUT = "… the beginning is left out here; the ledger keeps it whole …\n"


def escape(text: object) -> str:
    """Foreign text as text: no markup, no control characters."""
    return html.escape(clean(text))


def paragraph(text: str, css: str = "") -> str:
    return f'<p class="{css}">{escape(text)}</p>' if css else f"<p>{escape(text)}</p>"


def bullets(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def preformatted(text: str, wraps: bool = False) -> str:
    """Text as it is; a command to copy wraps, a log scrolls."""
    return f"<pre{' class=wraps' if wraps else ''}>{html.escape(clean(text), quote=False)}</pre>"


def end_of(text: str, limit_bytes: int) -> str:
    """The last part of a long text, measured as it stands in the page: errors are explained at their end."""
    room, start = limit_bytes, len(text)
    while start > 0 and room > 0:
        start -= 1
        room -= len(html.escape(clean(text[start])).encode("utf-8"))
    return text if start == 0 else CUT + text[start:]


def folded(summary: str, content: str, is_open: bool = False) -> str:
    """What a reader may open, or close."""
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}</summary>{content}</details>"


def facts_table(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th scope=row>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in facts)
    return f'<div class="scroll"><table class="facts">{rows}</table></div>' if rows else ""


def facts_grid(facts: Iterable[tuple[str, str]]) -> str:
    """Short facts side by side, as many to a line as fit."""
    items = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in facts)
    return f'<dl class="grid card">{items}</dl>' if items else ""


def table_html(table: Table) -> str:
    """A table that scrolls by itself on a narrow screen."""
    head = "".join(_heading(column) for column in table.columns)
    body = "".join(_row(table, row) for row in table.rows)
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    legend = "".join(paragraph(line, "soft") for line in table.legend)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{title}<div class="scroll">{grid}</div>{legend}'


def _heading(column: Column) -> str:
    unit = f"<small>({escape(column.unit)})</small>" if column.unit else ""
    return f'<th scope="col"{_side(column)}>{escape(column.heading)}{unit}</th>'


def _row(table: Table, row: Row) -> str:
    cells = (
        f"<td{_side(column)}{_bar(row) if index == table.bar_column else ''}>{escape(cell)}</td>"
        for index, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True))
    )
    return f'<tr class="{row.tone}">{"".join(cells)}</tr>'


def _side(column: Column) -> str:
    return ' class="right"' if column.right else ""


def _bar(row: Row) -> str:
    """The row's share as a tint behind its figure."""
    if row.bar is None:
        return ""
    end = f"{row.bar:.1%}"
    return f' style="background-image:linear-gradient(to right,var(--bar) {end},transparent {end})"'
