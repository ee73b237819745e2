"""How the times or the speeds of two kinds of runs compare, and whether chance may have made the difference.

Times of single runs spread by shares of themselves, so they are compared on logarithms, each run as one reading.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.row_comparisons import LEVEL, Sample, compare_rows
from traindyno.core.answers import RowComparison
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record


class TimeRatio(Record, frozen=True):
    """A ratio of geometric means. `shown`: chance alone gives such a one less often than 1 in 20, all tests counted."""

    value: float
    ci95: Interval
    shown: bool

    @property
    def words(self) -> str:
        """`0.327 (95 %: 0.325 to 0.329)`."""
        return f"{self.value:.3g} {ratio_ends(self.ci95)}"


def ratio_ends(interval: Interval) -> str:
    return "(95 %: {:.3g} to {:.3g})".format(*interval)


def time_ratios(first: Sequence[float], others: Sequence[Sequence[float]]) -> list[TimeRatio | None]:
    """Each of the others as a multiple of the first; null where a side has fewer than two runs, or none differ."""
    samples = [Sample(label="", values=tuple(map(math.log, each))) for each in (first, *others)]
    return [_ratio(each) for each in compare_rows(samples[0], samples[1:])]


def _ratio(compared: RowComparison) -> TimeRatio | None:
    if compared.ci95 is None or compared.p_value is None:
        return None
    low, high = map(math.exp, compared.ci95)
    return TimeRatio(value=math.exp(compared.difference), ci95=(low, high), shown=compared.p_value < LEVEL)
