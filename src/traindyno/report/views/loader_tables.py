"""The tables of a loader study: worker counts, single knobs, CPUs, and the grid in the form people note it down."""

from collections.abc import Callable, Sequence

from traindyno.core.answers import CpuScaling, LoaderAnswer, LoaderEffect, WorkerPoint
from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import (
    batch,
    count,
    duration,
    known,
    one_line,
    rate,
    rate_interval,
    ratio_interval,
    share,
    signed_percent,
)

Cell = Callable[[WorkerPoint], str]
UNSTEADY = "(!) not steady"
ONE_PROCESS = "Each row is one process; the recommended rate comes from all that ran with exactly what is recommended."

WORKERS = Column(heading="workers")
RATE = Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)")
PREDICTED = Column(heading="predicted", unit="examples per second", narrow="predicted")
START_UP = Column(heading="start-up")
P95 = Column(heading="95 % of batches within", narrow="95 %\nof batches")
P95_WAIT = Column(heading="95 % of waits within", narrow="95 %\nof waits")
LONGEST = Column(heading="longest batch", narrow="longest\nbatch")
NOTE = Column(heading="note", right=False)


def worker_tables(answer: LoaderAnswer) -> tuple[Table, ...]:
    """The loader alone, and the loader feeding the model; only what was measured on all the CPUs."""
    whole = [point for point in answer.points if point.cpus is None]
    alone = [point for point in whole if not point.end_to_end]
    fed = [point for point in whole if point.end_to_end]
    found = (_alone(answer, alone), _fed(answer, fed))
    return tuple(table for table in found if table.rows)


def effects_table(effects: Sequence[LoaderEffect]) -> tuple[Table, ...]:
    """Each knob against the same settings without it."""
    columns = (
        Column(heading="knob", right=False),
        Column(heading="value", right=False),
        Column(heading="speed", unit="95 % interval", narrow="speed\n(95 %)"),
        Column(heading="verdict", right=False),
    )
    rows = tuple(_effect_row(effect) for effect in effects)
    return (Table(columns=columns, rows=rows, title="Single knobs"),) if rows else ()


def cpus_table(scaling: Sequence[CpuScaling]) -> tuple[Table, ...]:
    """The rate on so many CPUs, at the worker count that should be best there."""
    columns = (Column(heading="CPUs"), WORKERS, RATE)
    fastest = _fastest([point.examples_per_second for point in scaling])
    rows = tuple(
        Row(
            cells=(str(point.cpus), str(point.num_workers), rate_interval(point.examples_per_second, point.ci95)),
            bar=_share_of(point.examples_per_second, fastest),
        )
        for point in scaling
    )
    return (Table(columns=columns, rows=rows, title="Restricted to so many CPUs", bar_column=2),) if rows else ()


def grid_tables(answer: LoaderAnswer) -> tuple[Table, ...]:
    """Workers down, batch sizes across; then one line per cell, with the load time per batch and per epoch."""
    if not answer.grid:
        return ()
    return (_matrix(answer), _cells(answer))


def data_name(data: str) -> str:
    """`folder:/data/places365` as one would call it: `places365`."""
    place = data.rstrip("/").rpartition("/")[2]
    return one_line(place.rpartition(":")[2] or data, 40)


def _alone(answer: LoaderAnswer, points: Sequence[WorkerPoint]) -> Table:
    columns = (WORKERS, RATE, PREDICTED, START_UP, P95, LONGEST, NOTE)
    cells: tuple[Cell, ...] = (
        _workers,
        _rate,
        lambda point: _predicted(point, ""),
        lambda point: duration(point.start_up_seconds),
        lambda point: duration(point.p95_batch_seconds),
        lambda point: duration(point.longest_batch_seconds),
        lambda point: _note(answer, point),
    )
    return _table(answer, points, columns, cells, "The loader alone")


def _fed(answer: LoaderAnswer, points: Sequence[WorkerPoint]) -> Table:
    resident = Column(heading="of resident data", narrow="of\nresident")
    miss = Column(heading="prediction's miss", narrow="miss")
    columns = (WORKERS, RATE, resident, PREDICTED, miss, START_UP, NOTE)
    cells: tuple[Cell, ...] = (
        _workers,
        _rate,
        lambda point: share(_share_of(point.examples_per_second, answer.resident_examples_per_second)),
        lambda point: _predicted(point, ""),
        lambda point: signed_percent(_miss(point)),
        lambda point: duration(point.start_up_seconds),
        lambda point: _note(answer, point),
    )
    return _table(answer, points, columns, cells, "Feeding the model")


def _table(
    answer: LoaderAnswer,
    points: Sequence[WorkerPoint],
    columns: tuple[Column, ...],
    cells: tuple[Cell, ...],
    title: str,
) -> Table:
    """A row per worker count; columns in which nothing is known are left out."""
    ordered = sorted(points, key=lambda point: point.num_workers)
    fastest = _fastest([point.examples_per_second for point in points])
    texts = [tuple(cell(point) for cell in cells) for point in ordered]
    kept = [index for index in range(len(columns)) if any(row[index] not in ("", "n/a") for row in texts)]
    rows = tuple(
        Row(
            cells=tuple(row[index] for index in kept),
            tone="chosen" if is_recommended(answer, point) else "plain",
            bar=_share_of(point.examples_per_second, fastest),
        )
        for point, row in zip(ordered, texts, strict=True)
    )
    legend = (ONE_PROCESS,) if any(_has_other_rate(answer, point) for point in points) else ()
    return Table(columns=tuple(columns[index] for index in kept), rows=rows, title=title, bar_column=1, legend=legend)


def is_recommended(answer: LoaderAnswer, point: WorkerPoint) -> bool:
    same_size = point.batch_size == answer.batch_size
    return same_size and point.cpus is None and point.num_workers == answer.recommended.num_workers


def _has_other_rate(answer: LoaderAnswer, point: WorkerPoint) -> bool:
    """Whether the answer has another rate or interval for the row that it recommends: that of several processes."""
    asked_for = is_recommended(answer, point) and point.end_to_end == answer.end_to_end
    return asked_for and (point.examples_per_second, point.ci95) != (answer.examples_per_second, answer.ci95)


def _note(answer: LoaderAnswer, point: WorkerPoint) -> str:
    """The recommended row stands for all processes of its settings, of which it shows the first."""
    recommended = is_recommended(answer, point)
    steady = point.steady and (answer.steady or not recommended or point.end_to_end != answer.end_to_end)
    notes = ("recommended" if recommended else "", "" if steady else UNSTEADY)
    return ", ".join(note for note in notes if note)


def _effect_row(effect: LoaderEffect) -> Row:
    verdict = "adopted" if effect.adopted else "left as it was"
    if effect.skipped_because is not None:
        verdict = f"{verdict}: {one_line(effect.skipped_because, 200)}"
    speed = "" if effect.ratio is None else ratio_interval(effect.ratio, effect.ci95)
    cells = (one_line(effect.knob), one_line(effect.value), speed, verdict)
    return Row(cells=cells, tone="good" if effect.adopted else "plain")


def _matrix(answer: LoaderAnswer) -> Table:
    workers = sorted({point.num_workers for point in answer.grid})
    sizes = sorted({point.batch_size for point in answer.grid})
    cells = {(point.num_workers, point.batch_size): point for point in answer.grid}
    columns = (WORKERS, *(Column(heading=f"batch {size}") for size in sizes))
    rows = tuple(
        Row(
            cells=(str(number), *(_rate_or_gap(cells.get((number, size))) for size in sizes)),
            tone="chosen" if number == answer.recommended.num_workers else "plain",
        )
        for number in workers
    )
    what = "training and loading" if answer.end_to_end else "loading alone"
    return Table(columns=columns, rows=rows, title=f"Examples per second, {what}")


def _cells(answer: LoaderAnswer) -> Table:
    """The form of the notes: data, workers, batch size, time per batch, time per epoch."""
    verb = "train and load" if answer.end_to_end else "load"
    columns = (
        Column(heading="data", right=False),
        Column(heading="CPU workers", narrow="CPU\nworkers"),
        Column(heading="batch size", narrow="batch\nsize"),
        Column(heading=f"{verb} time per batch", narrow=f"{verb} time\nper batch"),
        P95_WAIT if answer.end_to_end else P95,
        Column(heading=f"{verb} time per epoch", narrow=f"{verb} time\nper epoch"),
    )
    ordered = sorted(answer.grid, key=lambda point: (point.batch_size, point.num_workers))
    rows = tuple(
        Row(
            cells=(
                data_name(answer.data),
                str(point.num_workers),
                batch(point.batch_size),
                duration(_batch_seconds(point)),
                duration(point.p95_batch_seconds),
                duration(point.epoch_seconds),
            ),
            tone="chosen" if is_recommended(answer, point) else "plain",
        )
        for point in ordered
    )
    epoch = "" if answer.epoch_examples is None else f"An epoch has {count(answer.epoch_examples)} examples."
    return Table(columns=columns, rows=rows, title="Time per batch and per epoch", legend=(epoch,) if epoch else ())


def _batch_seconds(point: WorkerPoint) -> float | None:
    return point.batch_size / point.examples_per_second if point.examples_per_second > 0 else None


def _workers(point: WorkerPoint) -> str:
    return str(point.num_workers)


def _rate(point: WorkerPoint) -> str:
    return rate_interval(point.examples_per_second, point.ci95)


def _rate_or_gap(point: WorkerPoint | None) -> str:
    return "" if point is None else rate(point.examples_per_second)


def _predicted(point: WorkerPoint, missing: str) -> str:
    predicted = point.predicted_examples_per_second
    return missing if predicted is None else rate(predicted)


def _miss(point: WorkerPoint) -> float | None:
    """How far the prediction lay from what was then measured."""
    predicted = point.predicted_examples_per_second
    if predicted is None or not known(predicted) or not point.examples_per_second > 0:
        return None
    return predicted / point.examples_per_second - 1


def _fastest(rates: Sequence[float]) -> float | None:
    return max((each for each in rates if known(each)), default=None)


def _share_of(value: float, whole: float | None) -> float | None:
    return value / whole if whole and known(whole) and known(value) else None
