"""Closing in on the largest batch that runs, once something has failed.

A prediction from memory readings is a little off, by one or two percent. So after a failure the next size is just far
enough below it that its success would settle the matter; if that fails as well, the steps down double (in inference
the allocator's fragments can cost a quarter of the memory). Once something has run below a failure, what remains is
halved.
"""

import math
from collections.abc import Sequence
from itertools import takewhile

from traindyno.core.base import Record
from traindyno.core.records import TrialRecord


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
    return max(middle(low, high), _stepped_down(records, high, tolerance))


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


def _stepped_down(records: Sequence[TrialRecord], high: int, tolerance: float) -> int:
    """A size below a failure that followed from a prediction; zero if something ran since the first failure."""
    ran = [record.ok for record in records if not record.spec.evaluate]
    failures = len(list(takewhile(lambda ok: not ok, reversed(ran))))
    if failures == 0 or failures < ran.count(False):
        return 0
    return settling_below(tolerance, high) if failures == 1 else math.floor(high * (1 - tolerance * 2**failures))
