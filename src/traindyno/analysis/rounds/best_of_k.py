"""What the best of k draws is expected to score, from the n that were made: the mean over all ways to choose k of them.

That is unbiased, which the best run itself at fewer draws is not. A draw without a score never wins; where all k are
without one, the worst score that there is counts. What a run had when it was pruned counts as its score: it may have
become better, so the figure is if anything too low there.

The interval is from halves of the draws. Resampling with replacement would hold the best of all draws half of the time
only, for no resample is better than it; the best of half the draws varies as freely as that of all.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from traindyno.analysis.intervals import t_quantile
from traindyno.analysis.rounds.trials import sign
from traindyno.analysis.rounds.words import bounds_of
from traindyno.core.answers.rounds import BestOfK
from traindyno.core.base import Record
from traindyno.core.rounds import Round, RoundTrial

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

HALVES = 400
NORMAL_REACH = 1.96
"""Standard deviations in half of a 95 % interval, where the spread between seeds bounds the deviation from below."""
FEWEST_FOR_INTERVAL = 4
FEWEST_TO_SATURATE = 8
SATURATED_SHARE = 0.05
"""More draws add little when doubling them added less than this of all that searching has gained so far."""


class ExpectedBest(Record, frozen=True):
    """For k from 1 on, in the metric's own direction. `half_width` is of the 95 % interval, infinite where unknown."""

    expected: tuple[float, ...]
    half_width: tuple[float, ...]


def best_of_k(round_: Round, arm: str, draws: Sequence[RoundTrial], seed_spread: float | None) -> BestOfK:
    """The curve of one arm's plain search. `seed_spread` is the standard deviation between seeds, if it is known."""
    found = expected_best(round_, draws, seed_spread)
    low, high = bounds_of(round_.metric)
    pairs = list(zip(found.expected, found.half_width, strict=True))
    return BestOfK(
        arm=arm,
        expected=found.expected,
        low=tuple(max(low, value - half) for value, half in pairs),
        high=tuple(min(high, value + half) for value, half in pairs),
        saturated=_saturated(found.expected, seed_spread),
    )


def expected_best(round_: Round, draws: Sequence[RoundTrial], seed_spread: float | None = None) -> ExpectedBest:
    """Empty where no draw has a score. No interval is narrower than that of a single run over its seeds."""
    import numpy

    if not any(each.feasible for each in draws):
        return ExpectedBest(expected=(), half_width=())
    values = turned_scores(round_, draws)
    expected = sign(round_.metric) * (_weights(len(values)) @ numpy.sort(values))
    return ExpectedBest(expected=tuple(expected.tolist()), half_width=half_widths(values[None], seed_spread))


def turned_scores(round_: Round, draws: Sequence[RoundTrial]) -> "Array":
    """One number for each draw, more being better: the worst there is for a draw without a score."""
    import numpy

    turned = [sign(round_.metric) * each.score if each.feasible and each.score is not None else None for each in draws]
    worst = min(score for score in turned if score is not None)
    return numpy.array([worst if score is None else score for score in turned])


def half_widths(rows: "Array", seed_spread: float | None) -> tuple[float, ...]:
    """How far the 95 % interval of the best of k reaches, for every k: of one row, or of the second's over the first's.

    Two rows have the same points, one below the other, so each half takes the same of both: luck with points is common
    to them. What a half of the draws is too short for, the best of all of it stands for.
    """
    import numpy

    count: int = rows.shape[1]
    if count < FEWEST_FOR_INTERVAL:
        return (math.inf,) * count
    half = count // 2
    bests = numpy.sort(rows[:, _halves(count)], axis=2) @ _weights(half).T
    spreads = (bests[1] - bests[0] if len(rows) > 1 else bests[0]).std(axis=0, ddof=1)
    if seed_spread is None:
        widths = t_quantile(half - 1) * spreads
    else:
        widths = NORMAL_REACH * numpy.maximum(spreads, math.sqrt(len(rows)) * seed_spread)
    return tuple(float(widths[min(k, half) - 1]) for k in range(1, count + 1))


@lru_cache(maxsize=8)
def _halves(count: int) -> "Array":
    """Which draws are in each of many halves."""
    import numpy

    return numpy.argsort(numpy.random.default_rng(0).random((HALVES, count)), axis=1)[:, : count // 2]


@lru_cache(maxsize=8)
def _weights(count: int) -> "Array":
    """Row k: the chance of each value, in ascending order, to be the best of k chosen from `count`.

    The last value is among them with k / count; each before it is the best with so much less as the others leave.
    """
    import numpy

    k = numpy.arange(1, count + 1)[:, None]
    rank = numpy.arange(count - 1, 0, -1)[None]
    less = numpy.cumprod(numpy.maximum(rank - k + 1, 0) / rank, axis=1)
    return numpy.hstack([k / count, k / count * less])[:, ::-1]


def _saturated(expected: Sequence[float], seed_spread: float | None) -> bool | None:
    if len(expected) < FEWEST_TO_SATURATE:
        return None
    added = abs(expected[-1] - expected[math.ceil(len(expected) / 2) - 1])
    gained = abs(expected[-1] - expected[0])
    return added <= max(seed_spread or 0.0, SATURATED_SHARE * gained)
