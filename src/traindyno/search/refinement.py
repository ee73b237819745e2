"""Batch sizes worth a closer look: around the best, and in the octave that memory cuts short."""

import math
from collections.abc import Sequence

from traindyno.analysis.probes import ran_out
from traindyno.core.records import TrialRecord
from traindyno.search.memory_forecast import forecast_memory

_MULTIPLE = 8
_BELOW_LIMIT = 0.97
_NEAR = 1.1
_ROOM_FOR_TWO = 1.35


def refined_sizes(records: Sequence[TrialRecord], largest: int) -> tuple[int, ...]:
    """Multiples of 8 at 0.75 and 1.5 times the best, and up to two above the largest doubling.

    Only sizes that should fit, and none within a tenth of a size that was already tried. Without a memory
    limit there is no octave cut short.
    """
    measured = [record.measurement for record in records if record.measurement is not None]
    if not measured:
        return ()
    best = max(measured, key=lambda found: found.examples_per_second).batch_size
    end = _end(records, largest)
    largest_ran = max(found.batch_size for found in measured)
    top = [] if end is None else _top_octave(largest_ran, end)
    near = [_multiple(0.75 * best), _multiple(1.5 * best)]
    taken = [record.batch_size for record in records]
    chosen: list[int] = []
    for size in (*top, *near):
        if _fits(size, min(largest, end or largest_ran), records) and not any(
            _close(size, other) for other in (*taken, *chosen)
        ):
            chosen.append(size)
    return tuple(sorted(chosen))


def _end(records: Sequence[TrialRecord], largest: int) -> int | None:
    """Somewhat below where memory ends, by prediction and by what ran out of it."""
    forecast = forecast_memory(records)
    if forecast is None:
        return None
    failed = [record.batch_size for record in records if record.outcome.out_of_memory]
    limit = min([forecast.largest_batch(), *failed])
    return min(largest, math.floor(_BELOW_LIMIT * limit))


def _top_octave(largest_ran: int, end: int) -> list[int]:
    """The largest size memory should hold and, if there is room, one halfway to it."""
    last = end // _MULTIPLE * _MULTIPLE
    if not largest_ran * _NEAR < last < 2 * largest_ran:
        return []
    middle = _multiple(math.sqrt(largest_ran * last))
    return [middle, last] if last > _ROOM_FOR_TWO * largest_ran else [last]


def _fits(size: int, largest: int, records: Sequence[TrialRecord]) -> bool:
    stopped = [record.batch_size - 1 for record in records if ran_out(record)]
    smallest = min(record.batch_size for record in records)
    return max(_MULTIPLE, smallest) <= size <= min([largest, *stopped])


def _close(a: int, b: int) -> bool:
    return max(a, b) < _NEAR * min(a, b)


def _multiple(size: float) -> int:
    return round(size / _MULTIPLE) * _MULTIPLE
