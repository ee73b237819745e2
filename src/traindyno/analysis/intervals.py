"""Medians, 95 % intervals, and how several of them make one.

Step times are positive and their errors are shares of them, so everything that combines or compares them
works on logarithms: an interval never reaches below zero, and the interval of a rate is that of the time
turned upside down.
"""

import math
from collections.abc import Sequence

from traindyno.core.answers.interval import Interval

UNKNOWN: Interval = (0.0, math.inf)
"""The interval of something measured once: it may be anything."""

_NORMAL_QUANTILE = 1.959963984540054
_SMALL_T_QUANTILES = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582)
_FEWEST_FOR_ORDER_STATISTICS = 6
_MOST_FOR_EXACT_BINOMIAL = 500


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    if not values:
        raise ValueError("nothing has no median")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values: Sequence[float]) -> Interval:
    """A 95 % interval of the median of positive, independent values that assumes no shape of their distribution.

    Its ends are order statistics, chosen by the binomial distribution so that they hold the median at least
    95 % of the time. Fewer than six values cannot promise that much: they get a t interval on logarithms
    instead.
    """
    if len(values) < _FEWEST_FOR_ORDER_STATISTICS:
        return log_t_interval(values)
    ordered = sorted(values)
    rank = _outer_rank(len(ordered))
    return ordered[rank], ordered[-1 - rank]


def t_interval(values: Sequence[float]) -> Interval:
    """The 95 % interval of the mean of a few values; unbounded for a single one."""
    if not values:
        raise ValueError("nothing has no interval")
    if len(values) == 1:
        return -math.inf, math.inf
    center, half = _mean_and_half_width(values)
    return center - half, center + half


def log_t_interval(values: Sequence[float]) -> Interval:
    """The t interval of the geometric mean of positive values; it stays positive."""
    low, high = t_interval([math.log(value) for value in values])
    return _exponential(low), _exponential(high)


def combine_processes(medians: Sequence[float], within: Sequence[Interval]) -> tuple[float, Interval]:
    """One quantity measured in several fresh processes: its value and 95 % interval.

    Processes differ by more than the blocks of one do, so two or more give a t interval over the processes'
    own medians, on logarithms. The value is the median of the processes: what disturbs one of them only ever
    slows it down, and must not pull the others along. Chance may bring them closer together than
    any of them is precise, so the interval reaches at least one standard error of what the processes' own
    intervals leave open; their whole width as a floor would make 95 % into 99 %. A single process gives its
    own interval, which knows nothing about other processes.
    """
    if len(medians) == 1:
        return medians[0], within[0]
    center, half = _mean_and_half_width([math.log(value) for value in medians])
    half = max(half, _standard_error_of_mean(within))
    value = median(medians)
    return value, (min(value, _exponential(center - half)), max(value, _exponential(center + half)))


def ratio_interval(a: float, a_interval: Interval, b: float, b_interval: Interval) -> tuple[float, Interval]:
    """The ratio b / a of two independent estimates with its 95 % interval.

    The distances from the estimates to the ends of their intervals are added in quadrature on the log scale,
    each on its own side, which keeps lopsided intervals lopsided.
    """
    log_a, log_b = math.log(a), math.log(b)
    a_low, a_high = (_logarithm(end) for end in a_interval)
    b_low, b_high = (_logarithm(end) for end in b_interval)
    low = log_b - log_a - math.hypot(log_b - b_low, a_high - log_a)
    high = log_b - log_a + math.hypot(b_high - log_b, log_a - a_low)
    return b / a, (_exponential(low), _exponential(high))


def relative_half_width(center: float, interval: Interval) -> float:
    """How far the interval reaches from its center, as a share of it: 0.05 for ±5 %."""
    return max(interval[1] - center, center - interval[0]) / center


def tells_nothing(ratio: float, interval: Interval) -> bool:
    """Whether a ratio is as good as unknown: its interval holds 1 and reaches further than the ratio itself."""
    return interval[0] <= 1.0 <= interval[1] and relative_half_width(ratio, interval) > 1.0


def t_quantile(degrees_of_freedom: int) -> float:
    """The 97.5 % quantile of Student's t to four digits: a table, then an expansion around the normal's."""
    if degrees_of_freedom < 1:
        raise ValueError("a t quantile needs at least one degree of freedom")
    if degrees_of_freedom <= len(_SMALL_T_QUANTILES):
        return _SMALL_T_QUANTILES[degrees_of_freedom - 1]
    z, n = _NORMAL_QUANTILE, degrees_of_freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / n + second / n**2 + third / n**3 + fourth / n**4


def _mean_and_half_width(values: Sequence[float]) -> Interval:
    count = len(values)
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, t_quantile(count - 1) * math.sqrt(variance / count)


def _standard_error_of_mean(within: Sequence[Interval]) -> float:
    """What independent intervals leave open about the mean of their logarithms; unknown ones say nothing."""
    halves = [math.log(high / low) / 2 for low, high in within if low > 0 and math.isfinite(high)]
    return math.hypot(*halves) / len(halves) / _NORMAL_QUANTILE if halves else 0.0


def _outer_rank(count: int) -> int:
    """How many values to leave out on each side so that what remains still holds the median with 95 %."""
    if count > _MOST_FOR_EXACT_BINOMIAL:
        return math.floor((count - _NORMAL_QUANTILE * math.sqrt(count)) / 2) - 1
    allowed = 2**count // 40
    rank, ways, total = 0, 1, 1
    while total + ways * (count - rank) // (rank + 1) <= allowed:
        ways = ways * (count - rank) // (rank + 1)
        total += ways
        rank += 1
    return rank


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _exponential(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
