"""The step by itself, before its loader ran and after it: a CPU that changed its speed meanwhile must not be blamed on
the loader.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Block

DRIFTED = 1.1
"""Looks that differ by so many times are not two readings of one speed."""


class Resident(Record, frozen=True):
    """Seconds of a step with resident data; `drift` is the second look ÷ the first, null without one."""

    step_seconds: float
    ci95: Interval
    drift: float | None = None


def resident_of_looks(before: Sequence[Block], after: Sequence[Block]) -> Resident:
    """Both looks, where they differ: what the step took while its loader ran is somewhere between them.

    The second is short, so that it says nothing more where they agree.
    """
    seconds, ci95 = sustained_seconds(before)
    if not after:
        return Resident(step_seconds=seconds, ci95=ci95)
    later = sum(block.seconds for block in after) / sum(block.steps for block in after)
    drift = later / seconds
    if not has_drifted(drift) or abs(later - seconds) <= _by_chance(before, len(after)):
        return Resident(step_seconds=seconds, ci95=ci95, drift=drift)
    ends = (min(ci95[0], later), max(ci95[1], later))
    return Resident(step_seconds=math.sqrt(seconds * later), ci95=ends, drift=drift)


def _by_chance(before: Sequence[Block], count: int) -> float:
    """How far the mean of so many blocks may be from that of those before, if they are as noisy."""
    seconds, (_, high) = sustained_seconds(before)
    return (high - seconds) * math.sqrt(1 + len(before) / count)


def slowest_look(step_seconds: float, drift: float | None) -> float:
    """The longer look, from what both were made into."""
    if drift is None or not has_drifted(drift):
        return step_seconds
    return step_seconds * math.sqrt(max(drift, 1 / drift))


def has_drifted(drift: float | None) -> bool:
    return drift is not None and not 1 / DRIFTED <= drift <= DRIFTED
