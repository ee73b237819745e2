"""Whether the rows of a table differ: each against the first by Welch's test, corrected for how many tests there are.

With few seeds most differences cannot be shown. Where none is, what the seeds could have shown is told beside it, so
that "no difference shown" is not read as "no difference".
"""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.student import quantile, two_sided_probability
from traindyno.core.answers import RowComparison
from traindyno.core.base import Record

LEVEL = 0.05
POWER = 0.8
TOO_FEW = "too few seeds to tell"


class Sample(Record, frozen=True):
    """One row: its name, and one figure for each of its seeds. A figure is known to one part in `parts`, if any."""

    label: str
    values: tuple[float, ...]
    parts: int | None = None

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def variance(self) -> float:
        """Of one figure over seeds, and no less than if it could as well have been half a part off either way."""
        mean = self.mean
        found = math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1)
        return max(found, 0.0 if self.parts is None else 1 / (4 * self.parts**2))


def compare_rows(first: Sample, others: Sequence[Sample]) -> tuple[RowComparison, ...]:
    """Every other row against the first: shares, whose differences are told in points of a hundred."""
    tests = max(1, sum(len(other.values) > 1 for other in others))
    raw = [_welch(first, other, tests) for other in others]
    corrected = holm([each.p_value for each in raw])
    return tuple(
        msgspec.structs.replace(each, p_value=p_value, verdict=_verdict(each, p_value, tests))
        for each, p_value in zip(raw, corrected, strict=True)
    )


def points(share: float) -> str:
    """`1.3 points` of a hundred, with a digit more where it is small."""
    value = abs(100 * share)
    text = f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    return f"{text} point{'' if text == '1' else 's'}"


def _welch(first: Sample, second: Sample, tests: int) -> RowComparison:
    """The uncorrected comparison; null where a row has no spread to compare with."""
    nothing = RowComparison(
        first=first.label, second=second.label, difference=math.nan, ci95=None, p_value=None, verdict=TOO_FEW
    )
    if not (first.values and second.values):
        return nothing
    difference = second.mean - first.mean
    if min(len(first.values), len(second.values)) < 2:
        return msgspec.structs.replace(nothing, difference=difference)
    error, freedom = standard_error(first, second)
    if error == 0:
        return msgspec.structs.replace(nothing, difference=difference)
    half = quantile(1 - LEVEL / 2, freedom) * error
    return msgspec.structs.replace(
        nothing,
        difference=difference,
        ci95=(difference - half, difference + half),
        p_value=two_sided_probability(difference / error, freedom),
        detectable=(quantile(1 - LEVEL / 2 / tests, freedom) + quantile(POWER, freedom)) * error,
    )


def standard_error(first: Sample, second: Sample) -> tuple[float, float]:
    """That of the difference of means, and Welch's degrees of freedom."""
    one, two = (each.variance / len(each.values) for each in (first, second))
    if one + two == 0:
        return 0.0, math.inf
    freedom = (one + two) ** 2 / (one**2 / (len(first.values) - 1) + two**2 / (len(second.values) - 1))
    return math.sqrt(one + two), freedom


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The smallest counts as often as there are tests, the next once less, and none below the one before it."""
    known = sorted((value, index) for index, value in enumerate(p_values) if value is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (value, index) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[index] = highest
    return corrected


def _verdict(comparison: RowComparison, p_value: float | None, tests: int) -> str:
    if p_value is None or comparison.ci95 is None or comparison.detectable is None:
        return TOO_FEW
    if p_value >= LEVEL:
        known = "" if (comparison.p_value or 0) >= LEVEL else f", {tests} comparisons counted"
        return f"no difference shown{known}; about {points(comparison.detectable)} would have shown"
    ends = sorted(abs(100 * end) for end in comparison.ci95)
    digits = 1 if ends[1] >= 1 else 2
    direction = "lower" if comparison.difference < 0 else "higher"
    return f"{direction} by {points(comparison.difference)} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})"
