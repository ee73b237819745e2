"""A table for a terminal: its words may be broken into lines, its numbers never; what does not fit becomes a list."""

from typing import Any

from traindyno.report.renderers.console_words import longest, unbroken, wrapped
from traindyno.report.view import Column, Row, Table, Tone
from traindyno.report.wording import clean

STYLES: dict[Tone, str] = {"plain": "", "good": "green", "chosen": "bold green", "bad": "red"}
EIGHTHS = " ▏▎▍▌▋▊▉█"
GAP, SHORTEST_BAR, LONGEST_BAR = 2, 4, 20


def console_table(table: Table, width: int) -> list[Any]:
    """The title, and the rows side by side, or one below the other where the terminal is too narrow for that."""
    from rich.text import Text

    widths = _column_widths(table, width)
    title = [] if table.title is None else [Text(clean(table.title), style="italic")]
    return [*title, _listed(table) if widths is None else _grid(table, widths, _bar_width(table, width))]


def bar(share: float, width: int) -> str:
    """A bar of block characters, to an eighth of a cell."""
    eighths = max(0, min(width * 8, round(share * width * 8)))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _grid(table: Table, widths: list[int], bar_width: int) -> Any:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
    for index, (column, width) in enumerate(zip(table.columns, widths, strict=True)):
        grid.add_column(
            _heading(column),
            justify="right" if column.right else "left",
            no_wrap=column.right,
            overflow="fold",
            width=width,
        )
        if bar_width and index == table.bar_column:
            grid.add_column("", width=bar_width, no_wrap=True)
    for row in table.rows:
        grid.add_row(*_cells(table, row, widths, bar_width), style=STYLES[row.tone])
    return grid


def _listed(table: Table) -> Any:
    """Each row as lines of heading and value, those without a value left out."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, GAP, 0, 0))
    grid.add_column(overflow="fold", style="dim")
    grid.add_column(overflow="fold")
    for number, row in enumerate(table.rows):
        if number:
            grid.add_row()
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell:
                heading = f"{column.heading}{_unit(column, ' ')}"
                grid.add_row(Text(heading), Text(clean(cell), style=STYLES[row.tone]))
    return grid


def _column_widths(table: Table, width: int) -> list[int] | None:
    """Every figure has its whole width, and the widest columns of words are narrowed; null where that is not enough."""
    texts = [_texts(table, index) for index in range(len(table.columns))]
    wanted = [longest(lines) for lines in texts]
    least = [
        want if column.right else longest([part for line in lines for part in unbroken(line)])
        for column, lines, want in zip(table.columns, texts, wanted, strict=True)
    ]
    room = width - GAP * (len(wanted) - 1)
    fitting = (
        [min(want, max(some, level)) for want, some in zip(wanted, least, strict=True)] for level in _levels(wanted)
    )
    return next((widths for widths in fitting if sum(widths) <= room), None)


def _levels(wanted: list[int]) -> range:
    """How wide a column of words may be at most: as wide as any wants, and ever narrower."""
    return range(max(wanted, default=0), -1, -1)


def _bar_width(table: Table, width: int) -> int:
    """What room the figures leave for a bar; none when it would be too short to tell anything."""
    if table.bar_column is None:
        return 0
    needed = [longest(_texts(table, index)) for index in range(len(table.columns))]
    room = width - sum(needed) - GAP * len(needed)
    return min(room, LONGEST_BAR) if room >= SHORTEST_BAR else 0


def _texts(table: Table, index: int) -> list[str]:
    """All lines of a column, its heading's among them."""
    return [*str(_heading(table.columns[index])).splitlines(), *(clean(row.cells[index]) for row in table.rows)]


def _cells(table: Table, row: Row, widths: list[int], bar_width: int) -> list[Any]:
    from rich.text import Text

    cells = [
        Text(clean(cell) if column.right else wrapped(clean(cell), width))
        for column, cell, width in zip(table.columns, row.cells, widths, strict=True)
    ]
    if bar_width and table.bar_column is not None:
        drawn = "" if row.bar is None else bar(row.bar, bar_width)
        cells.insert(table.bar_column + 1, Text(drawn, style="blue"))
    return list(cells)


def _heading(column: Column) -> Any:
    from rich.text import Text

    return Text(column.narrow or f"{column.heading}{_unit(column, chr(10))}")


def _unit(column: Column, before: str) -> str:
    return f"{before}({column.unit})" if column.unit else ""
