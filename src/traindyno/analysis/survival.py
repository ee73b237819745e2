"""Times until something happened, where some never did: medians, their intervals, and whether two sets differ.

A run that missed counts as infinite. It is never left out, so that failing often cannot look like being fast.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import Any

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record

LEVEL = 0.05
FEWEST_FOR_INTERVAL = 6
"""Of fewer values not even all of them together hold the median with 95 %."""
POWER = 0.8
_MOST_WAYS = 50_000
_HOPELESS = 30
_ROUNDING = 1e-9
"""Sums of the same scores in another order differ by less than this, and are equal."""


class Difference(Record, frozen=True):
    """Two sets of times beside each other: whether the first tends to be `sooner`, and `score` standard errors so."""

    p_value: float
    sooner: bool
    score: float


class Steps(Record, frozen=True):
    """A share that grows by steps: what it is from each moment on."""

    at: tuple[float, ...]
    share: tuple[float, ...]


def median_time(times: Sequence[float]) -> float:
    """The middle time; infinite as soon as half of them are."""
    return median(times)


def median_time_interval(times: Sequence[float]) -> Interval | None:
    """A 95 % interval of the median from two of the times themselves, the upper of which may be infinite.

    It assumes nothing about their distribution. Null where there are too few to promise that much.
    """
    return None if len(times) < FEWEST_FOR_INTERVAL else median_interval(times)


def reached_share(times: Sequence[float]) -> Steps:
    """The share of all runs that were there by each moment."""
    moments = sorted(time for time in times if math.isfinite(time))
    shares = [number / len(times) for number in range(1, len(moments) + 1)]
    return Steps(at=(0.0, *moments), share=(0.0, *shares))


def compare_times(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The log-rank test, two-sided, with misses under observation to the end.

    For few runs it is exact: every way to deal the same times to two sets is counted. For many, ways are drawn.
    """
    scores = _scores([*first, *second])
    dealt = math.fsum(scores[: len(first)])
    score = dealt / _standard_error(scores, len(first)) if any(scores) else 0.0
    return Difference(p_value=_p_value(scores, len(first), dealt), sooner=dealt > _ROUNDING, score=abs(score))


def holm(p_values: Sequence[float], tests: int | None = None) -> list[float]:
    """Holm's correction: what each would have to be below the level, with all of them looked at.

    Where these are only some of the `tests` that might have been made, those count as well.
    """
    corrected, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, ((tests or len(p_values)) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def fewest_seeds(comparisons: int) -> int:
    """The fewest runs of each set with which even a complete separation passes the test, `comparisons` times."""
    seeds = 2
    while 2 * comparisons / math.comb(2 * seeds, seeds) > LEVEL:
        seeds += 1
    return seeds


def needed_seeds(first: Sequence[float], second: Sequence[float], comparisons: int) -> int | None:
    """About how many runs of each set would show a difference as large as this one, four times out of five.

    Null where that is more than thirty times as many as there were: as far as anybody can tell, there is none.
    """
    fewest = max(len(first) + 1, fewest_seeds(comparisons))
    if max(first) < min(second) or max(second) < min(first):
        return fewest
    score = compare_times(first, second).score
    wanted = NormalDist().inv_cdf(1 - LEVEL / (2 * comparisons)) + NormalDist().inv_cdf(POWER)
    if score * math.sqrt(_HOPELESS) < wanted:
        return None
    return max(fewest, math.ceil(len(first) * (wanted / score) ** 2))


def _scores(times: Sequence[float]) -> list[float]:
    """What each run adds to observed minus expected: one if it arrived, less the chances to arrive that it had."""
    hazards, total = {}, 0.0
    for moment in sorted({time for time in times if math.isfinite(time)}):
        total += sum(time == moment for time in times) / sum(time >= moment for time in times)
        hazards[moment] = total
    return [1 - hazards[time] if math.isfinite(time) else -total for time in times]


def _standard_error(scores: Sequence[float], count: int) -> float:
    """Of the sum over `count` of the scores, whose mean is zero, were they dealt at random."""
    every = len(scores)
    return math.sqrt(count * (every - count) / (every * (every - 1)) * math.fsum(score * score for score in scores))


def _p_value(scores: Sequence[float], count: int, dealt: float) -> float:
    """The share of all ways to deal the scores that make sums of `count` at least as far from zero.

    Where ways are drawn, what was seen is one of them.
    """
    import numpy as np

    if not any(scores):
        return 1.0
    sums = np.asarray(scores)[_ways_to_deal(len(scores), count)].sum(axis=1)
    hits, drawn = int((np.abs(sums) >= abs(dealt) - _ROUNDING).sum()), int(_are_drawn(len(scores), count))
    return (hits + drawn) / (len(sums) + drawn)


def _are_drawn(every: int, count: int) -> bool:
    return math.comb(every, count) > _MOST_WAYS


@lru_cache(maxsize=8)
def _ways_to_deal(every: int, count: int) -> Any:
    """Places of `count` out of `every`, a row for each way: all of them, or as many drawn, always the same ones."""
    import numpy as np

    if not _are_drawn(every, count):
        return np.array(list(combinations(range(every), count)))
    # The places of the smallest of equally distributed numbers are a fair choice.
    numbers = np.random.default_rng(every).random((_MOST_WAYS, every))
    return numbers.argpartition(count - 1, axis=1)[:, :count]
