"""Whether one sample's mean lies above another's by more than luck: exact where splits can be counted, Welch beyond.

The same seeds serve all configurations, yet other values make other runs of them, so the runs are taken as
independent. Were luck shared by seed after all, the test would only be more careful than it says.
"""

import math
import sys
from collections.abc import Sequence
from functools import cache
from itertools import chain, combinations
from typing import Any

from traindyno.analysis.row_comparisons import Sample, standard_error
from traindyno.analysis.student import quantile
from traindyno.core.answers.interval import Interval
from traindyno.core.proof_levels import smallest_probability

MOST_SPLITS = 200_000
EXACT, WELCH = "exact permutation", "Welch"
_ROUNDING = 1e-9
"""Sums that differ by less than this share of all values' span are the same sum."""


def probability_of_gain(incumbent: Sample, candidate: Sample) -> tuple[float, str]:
    """How often luck alone would give the candidate's mean such a lead, and the test that says so. Never zero."""
    splits = math.comb(len(incumbent.values) + len(candidate.values), len(candidate.values))
    if splits <= MOST_SPLITS:
        return exact_probability(incumbent.values, candidate.values), EXACT
    return max(_welch_probability(incumbent, candidate), sys.float_info.min), WELCH


def exact_probability(lower: Sequence[float], higher: Sequence[float]) -> float:
    """The share of all ways to deal the values into two such groups that put `higher` at least as far ahead."""
    import numpy

    values = numpy.array((*higher, *lower), dtype=float)
    # Centred, so that a sum's rounding is in proportion to how far values differ and not to how large they are.
    values -= values.mean()
    sums = values[_splits(len(values), len(higher))].sum(axis=1)
    observed = values[: len(higher)].sum()
    return float((sums >= observed - _ROUNDING * numpy.ptp(values)).mean())


def gain_interval(incumbent: Sample, candidate: Sample, error: float) -> Interval:
    """Where the true gain lies, with `error` beyond either end; Welch's, and no narrower than figures are precise."""
    gain = candidate.mean - incumbent.mean
    spread, freedom = standard_error(incumbent, candidate)
    half = 0.0 if spread == 0 else quantile(1 - error, freedom) * spread
    return gain - half, gain + half


@cache
def _splits(total: int, chosen: int) -> Any:
    """Every choice of so many places, one a row."""
    import numpy

    places = chain.from_iterable(combinations(range(total), chosen))
    return numpy.fromiter(places, dtype=numpy.uint8).reshape(-1, chosen)


def _welch_probability(incumbent: Sample, candidate: Sample) -> float:
    from scipy.special import stdtr

    gain = candidate.mean - incumbent.mean
    error, freedom = standard_error(incumbent, candidate)
    if error == 0:
        return 1.0 if gain <= 0 else smallest_probability(min(len(incumbent.values), len(candidate.values)))
    return float(stdtr(freedom, -gain / error))
