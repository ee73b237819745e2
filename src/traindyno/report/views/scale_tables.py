"""The tables of scaling: every way that was measured, where its step goes, and what a whole training takes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from traindyno.core.answers import ScaleAnswer, ScaleRow
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.report.view import Column, Row, Table, Tone
from traindyno.report.views.scale_outlook import (
    NOTE,
    break_even_table,
    fewest_devices,
    foretold_table,
    predicted_table,
    ranks_table,
)
from traindyno.report.wording import (
    batch,
    duration,
    duration_interval,
    known,
    one_line,
    rate_interval,
    share,
)

MARK = "(!)"
NOTABLE_LOAD = 0.005


def unusual_words(row: ScaleRow) -> str:
    """`buckets of 5 MiB, 4 parts`: how a row differs from those of every count of devices."""
    parts = (
        None if row.bucket_mib == USUAL_BUCKET_MIB else f"buckets of {row.bucket_mib:g} MiB",
        None if row.accumulation_steps == 1 else f"{row.accumulation_steps} parts",
    )
    return ", ".join(part for part in parts if part)


class Figure(NamedTuple):
    """A column of the table, what it says of a row, and whether it has something to say of any."""

    column: Column
    words: Callable[[ScaleRow], str]
    told: Callable[[ScaleRow], bool]


def scale_tables(answer: ScaleAnswer) -> tuple[Table, ...]:
    """All that have a row."""
    found = (
        _ways_table(answer),
        _parts_table(answer),
        _training_table(answer),
        ranks_table(answer),
        break_even_table(answer),
        foretold_table(answer),
        predicted_table(answer),
    )
    return tuple(table for table in found if table is not None)


WAY = (
    Figure(Column(heading="devices"), lambda row: str(row.devices), lambda _: True),
    Figure(Column(heading="nodes"), lambda row: str(row.nodes), lambda row: row.nodes > 1),
    Figure(
        Column(heading="batch per device", narrow="batch\neach"),
        lambda row: batch(row.batch_per_device),
        lambda _: True,
    ),
    Figure(Column(heading="batch in all", narrow="batch\nin all"), lambda row: batch(row.batch_size), lambda _: True),
)
SPEED = (
    Figure(
        Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
        lambda row: _speed(row),
        lambda _: True,
    ),
    Figure(
        Column(heading="efficiency", narrow="effi-\nciency"),
        lambda row: _share(row.efficiency),
        lambda row: row.efficiency is not None and row.devices > 1 and row.efficiency != 1,
    ),
    Figure(
        Column(heading="speed-up", narrow="speed-\nup"),
        lambda row: "" if row.speedup is None else f"{row.speedup:.2f}×",
        lambda row: row.speedup is not None and row.devices > 1 and row.speedup != 1,
    ),
)
HIDDEN = Figure(
    Column(heading="hidden"), lambda row: _shared(row, row.hidden_share), lambda row: bool(row.hidden_share)
)
LOAD_HIDDEN = Figure(
    Column(heading="loading beside communication", narrow="loading beside\ncommunication"),
    lambda row: _shared(row, row.load_hidden_share),
    lambda row: row.devices > 1 and (row.load_hidden_share or 0.0) >= NOTABLE_LOAD,
)
PARTS = (
    Figure(
        Column(heading="communication"),
        lambda row: _shared(row, row.communication_share),
        lambda row: row.devices > 1 and row.communication_share is not None,
    ),
    HIDDEN,
    Figure(
        Column(heading="waiting for the slowest", narrow="waiting for\nthe slowest"),
        lambda row: _shared(row, row.waiting_share),
        lambda row: row.devices > 1 and bool(row.waiting_share),
    ),
    Figure(Column(heading="loading"), lambda row: _share(row.load_share), lambda row: bool(row.load_share)),
    LOAD_HIDDEN,
)
TRAINING = (
    Figure(
        Column(heading="learning rate", narrow="learning\nrate"),
        lambda row: "" if row.learning_rate is None else f"{row.learning_rate:.4g}",
        lambda row: row.learning_rate is not None,
    ),
    Figure(
        Column(heading="training time", narrow="training\ntime"),
        lambda row: "" if row.training_seconds is None else duration_interval(row.training_seconds, row.training_ci95),
        lambda row: row.training_seconds is not None,
    ),
    Figure(
        Column(heading="cost"),
        lambda row: "" if row.cost is None else f"{row.cost:,.2f}",
        lambda row: row.cost is not None,
    ),
)
STEP = Figure(
    Column(heading="time per step", narrow="time\nper step"), lambda row: duration(row.step_seconds), lambda _: True
)
LEGENDS = {
    "efficiency": "efficiency: against as many times {base} with the same batch each",
    "speed-up": "speed-up: against {base} with the same batch in all",
}
PARTS_LEGEND = "shares of the step"
HIDDEN_LEGENDS = (
    (HIDDEN, "hidden: what of communication goes on beside computing and costs nothing"),
    (LOAD_HIDDEN, "loading beside communication: neither of the two would save it alone"),
)


def _ways_table(answer: ScaleAnswer) -> Table | None:
    if not answer.rows:
        return None
    figures = _shown((*WAY, *SPEED), answer.rows)
    fastest = max((row.examples_per_second or 0.0 for row in answer.rows), default=0.0)
    rows = tuple(_way_row(answer, index, figures, fastest) for index in range(len(answer.rows)))
    headings = [figure.column.heading for figure in figures]
    base = "one device" if fewest_devices(answer) == 1 else f"{fewest_devices(answer)} devices, the fewest measured,"
    legend = [words.format(base=base) for heading, words in LEGENDS.items() if heading in headings]
    legend += [f"{MARK} did not become steady"] if any(_doubtful(row) for row in answer.rows) else []
    columns = (*(figure.column for figure in figures), NOTE)
    return Table(columns=columns, rows=rows, legend=tuple(legend), bar_column=headings.index("throughput"))


def _parts_table(answer: ScaleAnswer) -> Table | None:
    """Where the step goes; nothing of ways that have a single part."""
    told = _shown(PARTS, answer.rows)
    parted = [(index, row) for index, row in enumerate(answer.rows) if any(figure.told(row) for figure in told)]
    if not parted:
        return None
    figures = (*_shown(WAY[:-1], answer.rows), STEP, *told)
    legend = (PARTS_LEGEND, *(words for figure, words in HIDDEN_LEGENDS if figure in told))
    return _plain_table(answer, parted, figures, "Where the step goes", legend)


def _training_table(answer: ScaleAnswer) -> Table | None:
    told = _shown(TRAINING, answer.rows)
    measured = [(index, row) for index, row in enumerate(answer.rows) if row.examples_per_second is not None]
    if not told or not measured:
        return None
    return _plain_table(answer, measured, (*_shown(WAY, answer.rows), *told), "A whole training")


def _plain_table(
    answer: ScaleAnswer,
    rows: Sequence[tuple[int, ScaleRow]],
    figures: Sequence[Figure],
    title: str,
    legend: tuple[str, ...] = (),
) -> Table:
    """Rows of ways with these figures, and what is unusual of each."""
    unusual = any(unusual_words(row) for _, row in rows)
    cells = [
        (*(figure.words(row) for figure in figures), *((unusual_words(row),) if unusual else ())) for _, row in rows
    ]
    told = tuple(Row(cells=each, tone=_tone(answer, index)) for each, (index, _) in zip(cells, rows, strict=True))
    columns = (*(figure.column for figure in figures), *((NOTE,) if unusual else ()))
    return Table(columns=columns, rows=told, title=title, legend=legend)


def _way_row(answer: ScaleAnswer, index: int, figures: Sequence[Figure], fastest: float) -> Row:
    row = answer.rows[index]
    if row.examples_per_second is None:
        way = {figure.column.heading for figure in WAY}
        cells = tuple(figure.words(row) if figure.column.heading in way else "" for figure in figures)
        why = one_line(row.failure or "not measured", 80)
        return Row(cells=(*cells, ", ".join(part for part in (unusual_words(row), why) if part)), tone="bad")
    names = {"fastest": answer.fastest, "recommended": answer.recommended}
    told = (unusual_words(row), *(name for name, chosen in names.items() if chosen == index))
    notes = ", ".join(note for note in told if note)
    bar = row.examples_per_second / fastest if known(row.examples_per_second) and fastest else None
    return Row(cells=(*(figure.words(row) for figure in figures), notes), tone=_tone(answer, index), bar=bar)


def _shown(figures: Sequence[Figure], rows: Sequence[ScaleRow]) -> tuple[Figure, ...]:
    return tuple(figure for figure in figures if any(figure.told(row) for row in rows))


def _doubtful(row: ScaleRow) -> bool:
    return not row.steady and row.examples_per_second is not None


def _speed(row: ScaleRow) -> str:
    return rate_interval(row.examples_per_second, row.ci95) + (f" {MARK}" if _doubtful(row) else "")


def _share(value: float | None) -> str:
    return "" if value is None else share(value)


def _shared(row: ScaleRow, value: float | None) -> str:
    """What only devices in a group have."""
    return _share(value) if row.devices > 1 else ""


def _tone(answer: ScaleAnswer, index: int) -> Tone:
    return "chosen" if index == answer.recommended else "good" if index == answer.fastest else "plain"
