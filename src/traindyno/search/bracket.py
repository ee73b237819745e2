"""Closing in on the largest batch that runs, once something has failed.

A prediction from memory readings is a little off, by one or two percent. So after a failure the next size is just far
enough below it that its success would settle the matter; if that fails as well, the readings were too far from the end
to foretell it, and one at half the size is taken. What remains is halved.
"""

import math
from collections.abc import Sequence
from itertools import takewhile

from traindyno.core.records import Record, TrialRecord

_FAR = 2.2


class Aim(Record, frozen=True):
    """Where memory should end, and the size to try for it: a little lower, as predictions run high."""

    predicted: int
    size: int


def size_inside(records: Sequence[TrialRecord], aim: Aim | None, low: int, high: int, tolerance: float) -> int:
    """The next size strictly between one that ran and one that failed."""
    if aim is None:
        return middle(low, high)
    step = closing_step(tolerance, low)
    here = low <= aim.predicted <= low + 2 * step
    if (low < aim.size or here) and aim.size < high - step:
        return min(max(aim.size, low + step), high - 1)
    failures = _failed_in_a_row(records)
    settling = settling_below(tolerance, high)
    if failures == 1 and low < settling:
        return settling
    if failures > 1 and high > _FAR * low:
        return high // 2
    return middle(low, high)


def closing_step(tolerance: float, low: int) -> int:
    """How far the first size that fails may lie above the largest that ran."""
    return max(1, math.floor(tolerance * low))


def settling_below(tolerance: float, high: int) -> int:
    """The smallest size whose success would close the bracket below one that failed."""
    size = math.ceil(high / (1 + tolerance))
    settles = high - size <= closing_step(tolerance, size)
    return min(size if settles else size + 1, high - 1)


def middle(low: int, high: int) -> int:
    """Halfway between two sizes, on the log scale if they are far apart, and strictly inside."""
    between = math.isqrt(low * high) if high > 4 * low else (low + high) // 2
    return min(max(between, low + 1), high - 1)


def _failed_in_a_row(records: Sequence[TrialRecord]) -> int:
    plain = [record for record in records if not record.spec.evaluate]
    return len(list(takewhile(lambda record: not record.ok, reversed(plain))))
