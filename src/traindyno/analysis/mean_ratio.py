"""The ratio of two means over the same readings, with its interval.

A mean of ratios would be wrong: where the denominator is small by chance, it is everything.
"""

import itertools
import math
from collections.abc import Sequence

from traindyno.analysis.intervals import t_quantile
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record

LARGEST_REACH = 100.0

Pair = tuple[float, float]
"""Numerator and denominator, read at the same moment."""


class MeanPair(Record, frozen=True):
    """Two means, what is not known of them, and from how many differences that is known."""

    numerator: float
    denominator: float
    numerator_variance: float
    denominator_variance: float
    covariance: float
    degrees_of_freedom: int

    @property
    def denominator_is_positive(self) -> bool:
        """Beyond what chance would do one time in forty."""
        reach = t_quantile(self.degrees_of_freedom) * math.sqrt(self.denominator_variance)
        return self.denominator > reach


def mean_within(runs: Sequence[Sequence[Pair]]) -> MeanPair | None:
    """The mean over runs of their means, as far as one reading beside the next tells; None without any such two.

    A run changes while it is read. Differences between neighbours leave that out, and what they hold is chance: each
    reading draws its own examples.
    """
    runs = [run for run in runs if run]
    steps = [(b[0] - a[0], b[1] - a[1]) for run in runs for a, b in itertools.pairwise(run)]
    if not steps:
        return None
    share = math.fsum(1 / len(run) for run in runs) / len(runs) ** 2
    # Differences of neighbours share a reading: they tell as much as two thirds of them would, were they independent.
    freedom = max(1, round(2 * len(steps) / 3))
    return _mean_pair([_mean(run) for run in runs], steps, share / (2 * len(steps)), freedom)


def mean_between(runs: Sequence[Sequence[Pair]]) -> MeanPair | None:
    """The same mean, as far as the differences between whole runs tell; None without two of them."""
    means = [_mean(run) for run in runs if run]
    if len(means) < 2:
        return None
    center = _mean(means)
    misses = [(each[0] - center[0], each[1] - center[1]) for each in means]
    return _mean_pair(means, misses, 1 / (len(means) * (len(means) - 1)), len(means) - 1)


def log_interval(found: MeanPair) -> Interval:
    """The 95 % interval of the ratio of two means that rise and fall together, as whole runs' do; on logarithms."""
    value = found.numerator / found.denominator
    variance = (
        found.numerator_variance / found.numerator**2
        + found.denominator_variance / found.denominator**2
        - 2 * found.covariance / (found.numerator * found.denominator)
    )
    reach = t_quantile(found.degrees_of_freedom) * math.sqrt(max(0.0, variance))
    return value * math.exp(-reach), (value * math.exp(reach) if reach < LARGEST_REACH else math.inf)


def fieller_interval(found: MeanPair) -> Interval:
    """The 95 % interval of the ratio by Fieller's theorem, which is right also where the denominator is little known.

    It holds what is positive, and is open above where the denominator may be nothing.
    """
    t_squared = t_quantile(found.degrees_of_freedom) ** 2
    a = found.denominator**2 - t_squared * found.denominator_variance
    b = found.numerator * found.denominator - t_squared * found.covariance
    c = found.numerator**2 - t_squared * found.numerator_variance
    if found.numerator <= 0 or found.denominator <= 0 or b * b < a * c:
        return 0.0, math.inf
    root = math.sqrt(b * b - a * c)
    if a <= 0:
        return (max(0.0, c / (b + root)) if b + root > 0 else 0.0), math.inf
    return max(0.0, (b - root) / a), (b + root) / a


def _mean(pairs: Sequence[Pair]) -> Pair:
    return math.fsum(pair[0] for pair in pairs) / len(pairs), math.fsum(pair[1] for pair in pairs) / len(pairs)


def _mean_pair(means: Sequence[Pair], misses: Sequence[Pair], factor: float, degrees_of_freedom: int) -> MeanPair:
    numerator, denominator = _mean(means)
    return MeanPair(
        numerator=numerator,
        denominator=denominator,
        numerator_variance=factor * math.fsum(miss[0] ** 2 for miss in misses),
        denominator_variance=factor * math.fsum(miss[1] ** 2 for miss in misses),
        covariance=factor * math.fsum(miss[0] * miss[1] for miss in misses),
        degrees_of_freedom=degrees_of_freedom,
    )
