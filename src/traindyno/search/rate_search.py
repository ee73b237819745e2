"""The best learning rate for one batch size, by climbing: twice or half the rate, as long as that is better."""

import math
from collections.abc import Callable

from traindyno.core.base import Record
from traindyno.search.replaying import Trying

Score = tuple[float, float]
"""Accuracy, then what decides between equal ones; more is better."""
DIVERGED: Score = (-math.inf, -math.inf)
WHOLE, HALF = 2, 1
"""A factor of 2 and one of √2, in units of the grid."""
FARTHEST = 6 * WHOLE
"""No rate is tried farther from the first than a factor of 64."""

TryRate = Callable[[float], Trying[Score | None]]


class FoundRate(Record, frozen=True):
    """`at_edge` says that the search ended at the last rate it may try."""

    rate: float
    at_edge: bool


def search_rate(first: float, try_rate: TryRate, is_cheap: Callable[[], bool]) -> Trying[FoundRate | None]:
    """Climb from the first rate by factors of 2, and where runs are cheap look between the best and its neighbours.

    Null where a trial says that none could run.
    """
    scores: dict[int, Score] = {}
    for stride in (WHOLE, HALF):
        if stride == HALF and not is_cheap():
            break
        while (place := _next(scores, stride)) is not None:
            score = yield from try_rate(first * 2 ** (place / WHOLE))
            if score is None:
                return None
            scores[place] = score
    best = _best(scores)
    return FoundRate(rate=first * 2 ** (best / WHOLE), at_edge=abs(best) == FARTHEST)


def _next(scores: dict[int, Score], stride: int) -> int | None:
    """The next place to try: above the best before below it; where all diverged, only below."""
    if not scores:
        return 0
    best = _best(scores)
    if scores[best] == DIVERGED:
        beside = [best - stride] if stride == WHOLE else []
    else:
        beside = [best + stride, best - stride]
    return next((place for place in beside if place not in scores and abs(place) <= FARTHEST), None)


def _best(scores: dict[int, Score]) -> int:
    """Of equally good places the one with the lowest rate."""
    return max(scores, key=lambda place: (scores[place], -place))
