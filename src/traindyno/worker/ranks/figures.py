"""One figure of all blocks that count, with its interval: the middle one, or their mean where loaders feed the ranks.

Batches come late now and then, and the middle block knows nothing of that; training waits for every one of them. All
blocks of a trial have as many steps, so their mean is all their time over all their steps.
"""

from collections.abc import Sequence
from statistics import fmean

from traindyno.analysis.intervals import median, median_interval, t_interval
from traindyno.analysis.sustained import mean_interval
from traindyno.core.answers.interval import Interval

FEWEST_FOR_MEDIAN = 6


def figure_of(seconds: Sequence[float], fed: bool) -> tuple[float, Interval]:
    """Of seconds per step of each block."""
    return (fmean(seconds), mean_interval(seconds)) if fed else (median(seconds), median_interval(seconds))


def difference_of(seconds: Sequence[float], fed: bool) -> tuple[float, Interval]:
    """Of what one kind of block takes longer than the other, in each turn; it may be negative."""
    if not fed:
        few = len(seconds) < FEWEST_FOR_MEDIAN
        return median(seconds), t_interval(seconds) if few else median_interval(seconds)
    center, (_, high) = fmean(seconds), mean_interval(seconds)
    # The lower end there is for what cannot be negative.
    return center, (2 * center - high, high)
