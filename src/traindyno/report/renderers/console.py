"""The answer for a terminal: tables as people keep them in notes, the answer itself in the last lines."""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from traindyno.core.answers import Document
from traindyno.report.conditions import device_name
from traindyno.report.document import is_simulated
from traindyno.report.renderers.console_table import console_table
from traindyno.report.settings_text import measured_code
from traindyno.report.view import Table
from traindyno.report.views import view_of
from traindyno.report.wording import clean

if TYPE_CHECKING:
    from rich.console import RenderableType

HINT, CONTINUED = "hint: ", " \\"
_WORD = r"""(?:[^\s"']|"[^"]*"|'[^']*')+"""
ARGUMENT = re.compile(rf"--{_WORD} (?!-){_WORD}|{_WORD}")
"""A word of a command, or an option with its value."""


def render_console(document: Document, width: int = 80, color: bool = False, notes: bool = True) -> str:
    """The whole answer as text; `notes=False` leaves out what belongs on the error stream."""
    return _printed([*_result(document, width), *(_notes(document, width) if notes else ())], width, color)


def render_console_notes(document: Document, width: int = 80, color: bool = False) -> str:
    """Warnings, the hint for the next command and the report's path: what accompanies the answer."""
    return _printed(list(_notes(document, width)), width, color)


def _printed(renderables: "list[RenderableType]", width: int, color: bool) -> str:
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        for renderable in renderables:
            console.print(renderable, highlight=False, markup=False, emoji=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n" if renderables else ""


def _result(document: Document, width: int) -> "Iterator[RenderableType]":
    from rich.text import Text

    view = view_of(document)
    yield from _banners(document)
    yield Text(clean(view.title(document)), style="bold")
    if device_name(document):
        yield Text(f"on {device_name(document)}", style="dim")
    first, *others = view.conclusion(document) or ("",)
    if view.answer_first:
        yield Text(clean(first), style="bold green")
    tables = view.tables(document)
    for number, table in enumerate(tables, 1):
        # The next table brings its own blank line.
        yield _table(table, width, line_below=bool(table.legend) or number == len(tables))
        yield from (Text(clean(line), style="yellow") for line in table.legend)
    verdicts = view.verdicts(document)
    if verdicts and tables and tables[-1].legend:
        yield Text("")
    yield from (_hanging("• ", line) for line in (*verdicts, *(others if view.answer_first else ())))
    if not view.answer_first:
        if verdicts or any(table.legend for table in tables):
            yield Text("")
        yield Text(clean(first), style="bold green")
        yield from (Text(clean(line)) for line in others)
    yield from (_hanging("    ", line, "") for line in measured_code(view.adoptions(document)))


def _notes(document: Document, width: int) -> "Iterator[RenderableType]":
    yield from (_hanging("warning: ", warning, "yellow") for warning in document.warnings)
    if document.hint:
        yield _hanging(HINT, to_be_pasted(document.hint, width - len(HINT)), "cyan")
    if document.report:
        yield _hanging("report: ", document.report, "cyan")


def to_be_pasted(text: str, width: int) -> str:
    """A command over several lines that a shell takes for one; any other text as it is.

    Lines end between two arguments, never within quotation marks.
    """
    arguments = ARGUMENT.findall(text)
    if not text.startswith("traindyno ") or len(text) <= width or " ".join(arguments) != text:
        return text
    lines = [""]
    for argument in arguments:
        longer = f"{lines[-1]} {argument}".lstrip()
        if lines[-1] and len(longer) + len(CONTINUED) > width:
            lines.append(argument)
        else:
            lines[-1] = longer
    return f"{CONTINUED}\n".join(lines)


def _banners(document: Document) -> "Iterator[RenderableType]":
    from rich.panel import Panel
    from rich.text import Text

    if is_simulated(document):
        yield Panel(Text("SIMULATED: made up by the simulated runner, not measured", style="bold"), style="magenta")
    alerts = view_of(document).alerts(document)
    if alerts:
        heading = Text("UNLIKE: not measured under the same conditions", style="bold")
        yield Panel(Text("\n").join([heading, *(Text(f"• {clean(alert)}") for alert in alerts)]), style="red")


def _hanging(lead: str, text: str, style: str = "") -> Any:
    """A line whose continuation stands under its text."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(lead, style=style), Text(clean(text)))
    return grid


def _table(table: Table, width: int, line_below: bool) -> Any:
    from rich.console import Group
    from rich.padding import Padding

    return Padding(Group(*console_table(table, width)), (1, 0, 1 if line_below else 0, 0))
