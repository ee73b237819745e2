"""Which number of devices is best on the way to a target: in time, in examples, in the time of all devices together."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.target_standing import FIRST, Standing
from traindyno.analysis.training import FEW_TO_NORMALISE
from traindyno.core.answers import TargetRow
from traindyno.core.units import count_of


def device_verdicts(rows: Sequence[TargetRow], time: Standing, examples: Standing, cost: Standing) -> tuple[str, ...]:
    """Sentences on the counts of devices, where ways to train differ in them or have several."""
    return (*_counts(rows, time, examples, cost), *_threads(rows), *_normalised(rows))


def _counts(rows: Sequence[TargetRow], time: Standing, examples: Standing, cost: Standing) -> Iterator[str]:
    """The count that all who may be first have in common wins; each way is told apart from the others elsewhere."""
    counts = sorted({row.devices for row in rows})
    if len(counts) < 2 or time.leader is None:
        return
    told = [
        f"{_outcome(rows, time)} in time",
        f"{_outcome(rows, examples)} in examples",
        f"{_outcome(rows, cost)} in device-hours, which the cost follows",
    ]
    *first, last = map(str, counts)
    yield f"Of {', '.join(first)} and {last} devices, {', '.join(told)}."


def _outcome(rows: Sequence[TargetRow], standing: Standing) -> str:
    devices = {row.label: row.devices for row in rows}
    others = [each.second for each in standing.comparisons if each.verdict != FIRST]
    counts = {devices[label] for label in (standing.leader, *others) if label is not None}
    return f"{counts.pop()} is best" if len(counts) == 1 else "none is certainly best"


def _threads(rows: Sequence[TargetRow]) -> Iterator[str]:
    threads = {row.settings.get("threads") for row in rows}
    each = threads.pop() if len(threads) == 1 else None
    if each is not None and any(row.devices > 1 for row in rows):
        yield f"Every device is a process with {count_of(each, 'thread')} on the CPU, however many there are."


def _normalised(rows: Sequence[TargetRow]) -> Iterator[str]:
    few = [row for row in rows if row.norm_examples is not None and row.norm_examples < FEW_TO_NORMALISE]
    if few:
        seen = ", ".join(f"{row.norm_examples} with {row.label}" for row in few)
        yield (
            f"Batch normalisation saw few examples at once: {seen}; fewer than {FEW_TO_NORMALISE} cost accuracy. "
            "--batch-norm sync, or a larger batch on each device, may win it back."
        )
