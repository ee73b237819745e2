"""What a renderer is given: tables, sentences and settings, already in words, free of any format."""

from collections.abc import Callable
from typing import Any, Literal

from traindyno.core.answers import Document, LoaderSettings
from traindyno.core.base import Record
from traindyno.report.conditions import RunSettings

Tone = Literal["plain", "good", "chosen", "bad"]
Number = int | float | str | bool | None


class Column(Record, frozen=True):
    """`narrow` is the heading where room is scarce, its lines already broken."""

    heading: str
    unit: str | None = None
    right: bool = True
    narrow: str | None = None


class Row(Record, frozen=True):
    """Cells in the order of the columns; `bar` is the row's share of the largest row, for drawing."""

    cells: tuple[str, ...]
    tone: Tone = "plain"
    bar: float | None = None


class Table(Record, frozen=True):
    """`bar_column` is the index of the column after which a bar may be drawn."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str | None = None
    legend: tuple[str, ...] = ()
    bar_column: int | None = None


class Headline(Record, frozen=True):
    """The one figure a reader came for, and the few that stand beside it. `tone` is plain where there is none yet."""

    value: str
    label: str
    beside: tuple[tuple[str, str], ...] = ()
    tone: Tone = "good"


class Adoption(Record, frozen=True):
    """Settings to copy into a training script. `loader` has the knobs of the loader, where they were measured.

    `switches` are the other settings to change, where those were. `own_data` come from the user's own code.
    """

    model: str
    batch_size: int
    training: bool = True
    run: RunSettings = RunSettings()
    accumulation_steps: int | None = None
    loader: LoaderSettings | None = None
    switches: dict[str, Any] | None = None
    own_data: bool = False


class Sheet(Record, frozen=True):
    """Plain numbers for a spreadsheet, units in the column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Number, ...], ...]


class Chapter(Record, frozen=True):
    """A part of the page under a heading of its own: a picture, then sentences, then tables."""

    heading: str
    chart: dict[str, Any] | None = None
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


class Snippet(Record, frozen=True):
    """A text to copy, and what it is for."""

    title: str
    text: str


def nothing(document: Document) -> tuple[Any, ...]:
    """For what a kind of answer does not have."""
    return ()


class View(Record, frozen=True):
    """How one kind of answer is told. `alerts` stand above everything else; `chart` is an Altair spec.

    `method` adds to what is said of all trials how this answer came about; a function where that depends on the answer.
    `snippets` are texts to copy beside those of `adoptions`. With `answer_first` the first line of the conclusion
    stands above everything and the verdicts above its other lines. `chapters` take the place of chart and tables on a
    page.
    """

    title: Callable[[Document], str]
    headline: Callable[[Document], Headline | None]
    tables: Callable[[Document], tuple[Table, ...]]
    conclusion: Callable[[Document], tuple[str, ...]]
    verdicts: Callable[[Document], tuple[str, ...]]
    sheet: Callable[[Document], Sheet]
    chart: Callable[[Document], dict[str, Any] | None]
    adoptions: Callable[[Document], tuple[Adoption, ...]] = nothing
    alerts: Callable[[Document], tuple[str, ...]] = nothing
    snippets: Callable[[Document], tuple[Snippet, ...]] = nothing
    chapters: Callable[[Document], tuple[Chapter, ...]] = nothing
    answer_first: bool = False
    method: str | Callable[[Document], str] | None = None
