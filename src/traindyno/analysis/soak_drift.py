"""Whether a long run becomes slower: a robust line through its blocks' rates, with an interval that knows their memory.

Neighbouring blocks are alike, so that many of them say less than they are. They are put together to a few spans first;
what the spans still have in common with their neighbours then widens the interval.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from traindyno.analysis.intervals import median, t_quantile
from traindyno.core.answers.interval import Interval

MOST_SPANS = 40
FEWEST_SPANS = 12
LEAST_SECONDS = 120.0
MOST_ALIKE = 0.95
_NORMAL_DEVIATION = 1.4826
"""Standard deviation of a normal distribution in median absolute deviations."""
_LOST_EFFICIENCY = 1.15
"""How much less certain a median of slopes is than a least-squares line, where that would be right."""

Point = tuple[float, float]


def drift_of(points: Sequence[Point]) -> tuple[float, Interval] | None:
    """Change of a rate in percent per minute, from pairs of seconds and rate; below zero it grew slower.

    Null when the points span too little time or are too few.
    """
    spans = spans_of(points)
    if len(spans) < FEWEST_SPANS or points[-1][0] - points[0][0] < LEAST_SECONDS:
        return None
    slope = theil_sen(spans)
    half = _half_width(spans, slope)
    unit = 6000 / median([rate for _, rate in spans])
    return slope * unit, ((slope - half) * unit, (slope + half) * unit)


def theil_sen(points: Sequence[Point]) -> float:
    """The median of the slopes between any two points, which a few wild ones do not bend."""
    return median([(b[1] - a[1]) / (b[0] - a[0]) for at, a in enumerate(points) for b in points[at + 1 :]])


def line_through(points: Sequence[Point], percent_per_minute: float) -> tuple[Point, Point]:
    """Both ends of the line that such a drift means for these points."""
    level = median([rate for _, rate in points])
    slope = percent_per_minute * level / 6000
    offset = median([rate - slope * at for at, rate in points])
    first, last = points[0][0], points[-1][0]
    return (first, offset + slope * first), (last, offset + slope * last)


def spans_of(points: Sequence[Point]) -> list[Point]:
    """Medians of equally many successive points."""
    count = min(len(points), MOST_SPANS)
    cuts = [round(number * len(points) / count) for number in range(count + 1)] if count else []
    groups = [points[start:end] for start, end in pairwise(cuts)]
    return [(median([at for at, _ in group]), median([rate for _, rate in group])) for group in groups]


def deviation_of(values: Sequence[float]) -> float:
    """A standard deviation that a few wild values do not raise."""
    center = median(values)
    return _NORMAL_DEVIATION * median([abs(value - center) for value in values])


def _half_width(spans: Sequence[Point], slope: float) -> float:
    """Half of the 95 % interval of the slope, for noise that fades from each span to the next."""
    residuals = [rate - slope * at for at, rate in spans]
    center, deviation = median(residuals), deviation_of(residuals)
    residuals = [value - center for value in residuals]
    alike = _likeness(residuals, 3 * deviation)
    inflation = (1 + alike) / (1 - alike)
    middle = math.fsum(at for at, _ in spans) / len(spans)
    spread = math.sqrt(math.fsum((at - middle) ** 2 for at, _ in spans))
    independent = max(3, round(len(spans) / inflation)) - 2
    return t_quantile(independent) * _LOST_EFFICIENCY * deviation * math.sqrt(inflation) / spread


def _likeness(residuals: Sequence[float], limit: float) -> float:
    """Correlation of neighbours, outliers cut. A fitted line hides some of it, which is put back; never below zero."""
    cut = [max(-limit, min(limit, value)) for value in residuals]
    power = math.fsum(value * value for value in cut)
    if power <= 0:
        return 0.0
    seen = math.fsum(a * b for a, b in pairwise(cut)) / power
    return min(MOST_ALIKE, max(0.0, seen + (1 + 4 * seen) / len(cut)))
