"""The ratio of two settings over several pairs, with an interval that covers the variation between processes.

Two or three pairs of one switch say little about how far processes differ. All switches of a study together say it
well, if it is taken to be alike for all: their spreads are pooled, on logarithms. One pair that was disturbed must not
widen all other intervals, so the pooled spread is that of the usual pair, and each interval reaches to its own pairs.
A switch that is noisier than the others by far is judged by its own pairs, of which it needs one more. So are pairs
that are calmer by far: where the host limits the step, its neighbours move all that it launches, and nothing of a
graph.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from traindyno.analysis.intervals import UNKNOWN, median, ratio_interval, t_quantile
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Arm, Measurement, Memory, Pair

LARGEST_HALF = 3.0
"""An interval that reaches further than this, on logarithms (twentyfold), says as little as one without ends."""


# Half of all normal errors are smaller than this share of their standard deviation; and the median of some absolute
# errors tells that deviation as well as this share of them would by their squares.
USUAL_SHARE_OF_DEVIATION = 0.6745
MEDIAN_EFFICIENCY = 0.37
LEAST_FOR_MEDIAN = 6
NOISY = 3.0
"""Pairs that differ by more than so many pooled deviations are of a switch that is noisier than the others."""
CALM = 0.25
"""Pairs whose own turns leave open less than this share of what is usual are calmer than the others."""
LEAST_BY_THEMSELVES = 3
"""Two pairs have an interval of thirteen standard errors by themselves."""


class Spread(Record, frozen=True):
    """How far the logarithms of ratios differ from pair to pair; with no degrees of freedom it is not known."""

    standard_deviation: float
    degrees_of_freedom: int


def pooled_spread(groups: Iterable[Sequence[Pair]]) -> Spread:
    """The spread between pairs of the same two settings, pooled over all groups that have at least two."""
    contrasts = [each for group in groups for each in _contrasts(group)]
    if len(contrasts) < LEAST_FOR_MEDIAN:
        return _spread_by_squares(contrasts)
    usual = median([abs(contrast) for contrast in contrasts])
    worth = int(MEDIAN_EFFICIENCY * len(contrasts))
    return Spread(standard_deviation=usual / USUAL_SHARE_OF_DEVIATION, degrees_of_freedom=worth)


def _spread_by_squares(contrasts: Sequence[float]) -> Spread:
    squares = math.fsum(contrast**2 for contrast in contrasts) / max(1, len(contrasts))
    return Spread(standard_deviation=math.sqrt(squares), degrees_of_freedom=len(contrasts))


def _contrasts(pairs: Sequence[Pair]) -> Iterator[float]:
    """Differences of each pair to those before it, on logarithms: independent, and each as wide as one pair alone."""
    values = [math.log(pair.ratio) for pair in pairs]
    for count in range(1, len(values)):
        mean = math.fsum(values[:count]) / count
        yield (values[count] - mean) * math.sqrt(count / (count + 1))


def is_noisy(pairs: Sequence[Pair], spread: Spread) -> bool:
    """Whether these pairs differ by far more than pairs usually do, as exactly as that is known."""
    if spread.degrees_of_freedom == 0:
        return False
    most = max(NOISY, t_quantile(spread.degrees_of_freedom)) * spread.standard_deviation
    return any(abs(contrast) > most for contrast in _contrasts(pairs))


def is_calm(pairs: Sequence[Pair], others: Iterable[Pair]) -> bool:
    """Whether the turns of each of these vary by far less than those of the usual pair.

    That says nothing of how far these pairs differ from each other, so that an interval of their own is an honest one.
    """
    own, usual = _halves(pairs), _halves(others)
    return len(own) == len(pairs) and bool(usual) and max(own) <= CALM * median(usual)


def effect_of(
    pairs: Sequence[Pair], spread: Spread, kin: Sequence[Sequence[Pair]] = (), calm: bool = False
) -> tuple[float, Interval]:
    """The median ratio and its 95 % interval, at least as wide as what the pairs' own blocks leave open.

    `kin` are groups of other pairs that share a setting with these: where one of them is noisy, these are taken to be.
    Three at least tell by themselves how noisy they are; where they are `calm`, what others differ by does not count
    against them either.
    """
    logarithms = [math.log(pair.ratio) for pair in pairs]
    mean = math.fsum(logarithms) / len(pairs)
    reach = max(abs(value - mean) for value in logarithms)
    between = max(_between(each, len(pairs)) for each in (spread, _own_spread(pairs, spread, kin)))
    if calm and len(pairs) >= LEAST_BY_THEMSELVES:
        between = min(between, _between(_spread_by_squares(list(_contrasts(pairs))), len(pairs)))
    half = max(between, _within(pairs, spread), reach)
    ratio = math.exp(median(logarithms))
    if half > LARGEST_HALF:
        return ratio, UNKNOWN
    return ratio, (min(ratio, math.exp(mean - half)), max(ratio, math.exp(mean + half)))


def _own_spread(pairs: Sequence[Pair], spread: Spread, kin: Sequence[Sequence[Pair]]) -> Spread:
    """How far these pairs differ, by themselves or with their noisy kin; not known where neither is noisy."""
    noisy = [group for group in kin if is_noisy(group, spread)]
    if not noisy and not is_noisy(pairs, spread):
        return Spread(standard_deviation=0.0, degrees_of_freedom=0)
    groups = [pairs] if len(pairs) >= LEAST_BY_THEMSELVES else [*noisy, pairs]
    return _spread_by_squares([contrast for group in groups for contrast in _contrasts(group)])


def _between(spread: Spread, count: int) -> float:
    if spread.degrees_of_freedom == 0:
        return 0.0
    return t_quantile(spread.degrees_of_freedom) * spread.standard_deviation / math.sqrt(count)


def _within(pairs: Sequence[Pair], spread: Spread) -> float:
    """Half the width of the mean's interval, if blocks were all that varied.

    A pair too short to have an interval of its own says nothing; where there is no other, all is possible.
    """
    known = _halves(pairs)
    if not known:
        return 0.0 if spread.degrees_of_freedom else math.inf
    return math.hypot(*known) / len(known)


def _halves(pairs: Iterable[Pair]) -> list[float]:
    """Half of what the turns of each pair leave open, on logarithms, where they leave an interval at all."""
    ends = [pair.ci95 for pair in pairs]
    return [math.log(high / low) / 2 for low, high in ends if 0 < low <= high < math.inf]


def pair_apart(baseline: Measurement, candidate: Measurement) -> Pair:
    """Two fresh processes, one after the other, told as a pair: for settings that do not fit the device together."""
    ratio, ci95 = ratio_interval(candidate.step_seconds, candidate.ci95, baseline.step_seconds, baseline.ci95)
    return Pair(baseline=_arm(baseline), candidate=_arm(candidate), turns=(), ratio=ratio, ci95=ci95)


def _arm(measurement: Measurement) -> Arm:
    return Arm(
        step_seconds=measurement.step_seconds,
        ci95=measurement.ci95,
        steady=measurement.steady,
        memory=measurement.memory,
        start_up_seconds=measurement.start_up_seconds,
        first_step_seconds=measurement.first_step_seconds,
        warm_up_seconds=measurement.warm_up_seconds,
        warm_up_steps=measurement.warm_up_steps,
        loss=measurement.loss,
        notes=measurement.notes,
    )


def memory_ratio(pairs: Sequence[Pair]) -> float | None:
    """The candidate's peak as a share of the baseline's."""
    peaks = [_peaks(pair.candidate.memory, pair.baseline.memory) for pair in pairs]
    ratios = [candidate / baseline for candidate, baseline in peaks if baseline > 0]
    return median(ratios) if ratios else None


def _peaks(one: Memory, other: Memory) -> tuple[int, int]:
    """On a GPU what the allocator took from the device: CUDA graphs hold memory in which no tensor is counted."""
    if one.peak_reserved_bytes is None or other.peak_reserved_bytes is None:
        return one.peak_bytes, other.peak_bytes
    return one.peak_reserved_bytes, other.peak_reserved_bytes
