"""Which worker count to try next, and which of those tried to take.

Another count is worth a trial while it may be faster than the best measured by more than the trial is worth, or should
be as good with clearly fewer workers.
"""

import math
from collections.abc import Sequence
from typing import Literal

from traindyno.analysis.worker_estimates import Estimate
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.loading import GPU_DECODER, Decoder

NEAR_BEST = 0.99
_DOUBTFUL = 0.98
_LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_OVERSUBSCRIBED = 1.25
_ONLY_FEW = 4
_SURE = 1.06
_WORTH_A_TRIAL = 0.02
_FEWER_BY = 0.75
_ALIKE = 0.1


class NextCount(Record, frozen=True):
    """A worker count to try: the loader alone (`load`) or what is asked for in the end (`goal`)."""

    num_workers: int
    how: Literal["load", "goal"]
    reason: str


def worker_counts(usable_cpus: float) -> tuple[int, ...]:
    """The counts worth considering: few ones, a ladder, around all CPUs, and a little beyond."""
    whole = max(1, math.floor(usable_cpus))
    few = [count for count in _LADDER if count <= min(_ONLY_FEW, 2 * whole)]
    ladder = [count for count in _LADDER if count <= whole]
    around = [count for count in (whole - 1, whole, math.ceil(_OVERSUBSCRIBED * whole)) if count > 0]
    return tuple(sorted({*few, *ladder, *around}))


def grid_counts(usable_cpus: float) -> tuple[int, ...]:
    """The counts of a whole table: none, and doubling up to the CPUs there are."""
    whole = max(1, math.floor(usable_cpus))
    return tuple(sorted({0, *(2**power for power in range(whole.bit_length())), whole}))


def next_count(estimates: Sequence[Estimate], trials_left: int, load_first: bool) -> NextCount | None:
    """What to try next, or None when the best is known well enough or no trial is left.

    `load_first` allows a trial of the loader alone before the first of what is asked for, if much is still open.
    """
    if trials_left <= 0 or not estimates:
        return None
    if any(estimate.measured for estimate in estimates):
        return _contender(estimates) or _fewer(estimates)
    choice = fewest_near_best(estimates)
    unsure = choice.high > _SURE * choice.low
    if load_first and unsure and choice.num_workers > 0 and trials_left > 1:
        return NextCount(num_workers=choice.num_workers, how="load", reason="how fast the loader is by itself")
    return NextCount(num_workers=choice.num_workers, how="goal", reason="should be the fewest that suffice")


def fewest_near_best(estimates: Sequence[Estimate]) -> Estimate:
    """The fewest workers expected within 1 % of the best."""
    best = min(estimate.seconds for estimate in estimates)
    return next(estimate for estimate in estimates if estimate.seconds * NEAR_BEST <= best)


def choose_count(rates: Sequence[tuple[int, float, Interval]]) -> int:
    """Of worker counts with their rates and intervals: the fewest within the interval of the best.

    One that is 1 % below the best counts as equal; one up to 2 % below only if its interval reaches the best.
    """
    best = max(rate for _, rate, _ in rates)
    within = [
        count
        for count, rate, interval in rates
        if rate >= NEAR_BEST * best or (rate >= _DOUBTFUL * best and interval[1] >= best)
    ]
    return min(within)


def _contender(estimates: Sequence[Estimate]) -> NextCount | None:
    """Among those that may beat the best measured by more than a trial is worth, the fewest near the most promising."""
    measured = [estimate for estimate in estimates if estimate.measured]
    limit = (1 - _WORTH_A_TRIAL) * min(estimate.seconds for estimate in measured)
    rivals = [
        estimate
        for estimate in estimates
        if estimate.low < limit and not any(alike(estimate.num_workers, other.num_workers) for other in measured)
    ]
    if not rivals:
        return None
    return NextCount(num_workers=fewest_near_best(rivals).num_workers, how="goal", reason="may be faster")


def fewest_workers(decoder: Decoder) -> int:
    """Where the GPU decodes, whoever loads the bytes is better not the thread that decodes them."""
    return 1 if decoder == GPU_DECODER else 0


def alike(count: int, other: int) -> bool:
    """Whether two counts are so close that trying both would teach nothing."""
    return abs(count - other) <= _ALIKE * other


def _fewer(estimates: Sequence[Estimate]) -> NextCount | None:
    """Clearly fewer workers that should do as well as the best measured."""
    measured = [estimate for estimate in estimates if estimate.measured]
    best = min(estimate.seconds for estimate in measured)
    near_best = [estimate for estimate in estimates if estimate.seconds * NEAR_BEST <= best]
    enough = min(estimate.num_workers for estimate in near_best if estimate.measured)
    fewer = [each.num_workers for each in near_best if each.num_workers <= _FEWER_BY * enough and not each.measured]
    return NextCount(num_workers=fewer[0], how="goal", reason="fewer may suffice") if fewer else None
