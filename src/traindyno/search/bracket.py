"""Closing the bracket between the largest batch that ran and the smallest that did not."""

import math
from collections.abc import Sequence
from itertools import pairwise, takewhile

from traindyno.analysis.probes import read_probes
from traindyno.core.records import TrialRecord
from traindyno.search.memory_forecast import MemoryForecast, forecast_memory

_PATIENCE = 3


def size_inside(
    records: Sequence[TrialRecord], forecast: MemoryForecast | None, low: int, high: int, step: int
) -> int:
    """The next size to try, strictly inside; `step` is the width at which the bracket counts as closed.

    That is where memory should end, aimed half a step low, as long as it lies inside and predictions have
    held. A prediction that has just failed is usually a little too high: a quarter of the way back is tried
    first. Else the middle.
    """
    width = high - low
    if forecast is None or width <= 2 * step:
        return _middle(low, high)
    aimed = forecast.largest_reserved_batch() - step // 2
    if aimed < high and not _predictions_stall(records):
        return min(max(aimed, low + step), high - step)
    if _failed_in_a_row(records) == 1 and high <= 4 * low:
        return high - max(step, width // 4)
    return _middle(low, high)


def _middle(low: int, high: int) -> int:
    """Halfway between two sizes, on the log scale if they are far apart, and strictly inside."""
    middle = math.isqrt(low * high) if high > 4 * low else (low + high) // 2
    return min(max(middle, low + 1), high - 1)


def _predictions_stall(records: Sequence[TrialRecord]) -> bool:
    """Whether the latest probe ran beyond the predicted end of memory, or three in a row barely helped."""
    before = forecast_memory(records[:-1])
    last = records[-1]
    if before is not None and last.ok and last.batch_size > before.largest_batch() + 1:
        return True
    widths = [_width(records[: len(records) - back]) for back in range(_PATIENCE + 1)]
    return all(
        earlier is not None and later is not None and 2 * later > earlier + 1
        for later, earlier in pairwise(widths)
    )


def _width(records: Sequence[TrialRecord]) -> int | None:
    probes = read_probes(records)
    high = probes.smallest_failed_above
    return high - probes.largest_ran if high is not None and probes.largest_ran is not None else None


def _failed_in_a_row(records: Sequence[TrialRecord]) -> int:
    return len(list(takewhile(lambda record: not record.ok, reversed(records))))
