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
FEWEST_SPANS = 20
"""Of fewer, the interval is too narrow: chance alone would show too many drifts."""
FEWEST_DECIMALS, MOST_DECIMALS = 2, 6
LEAST_SECONDS = 120.0
MOST_ALIKE = 0.95
_NORMAL_DEVIATION = 1.4826
"""Standard deviation of a normal distribution in median absolute deviations."""
_LOST_EFFICIENCY = 1.15
"""How much less certain a median of slopes is than a least-squares line, where that would be right."""

Point = tuple[float, float]


def drift_of(points: Sequence[Point], change_seconds: float | None = None) -> tuple[float, Interval] | None:
    """Change of a rate in percent per minute, from pairs of seconds and rate; below zero it grew slower.

    Where the rate changed all at once after `change_seconds`, it is the drift besides: before and after, the same
    slope at two levels. Null when the points span too little time or are too few.
    """
    spans = spans_of(points)
    if len(spans) < FEWEST_SPANS or points[-1][0] - points[0][0] < LEAST_SECONDS:
        return None
    sides = sides_of(spans, change_seconds)
    slope = theil_sen(*sides)
    half = _half_width(sides, slope)
    unit = 6000 / median([rate for _, rate in spans])
    return slope * unit, ((slope - half) * unit, (slope + half) * unit)


def is_shown(drift: tuple[float, Interval]) -> bool:
    """Whether it is more than chance."""
    return not drift[1][0] <= 0 <= drift[1][1]


def decimals_of(interval: Interval) -> int:
    """How many leave a figure of the interval's width, and of its end nearer to zero where it shows a drift."""
    low, high = interval
    sizes = ((high - low) / 2, min(abs(low), abs(high)) if low * high > 0 else 0.0)
    least = min((size for size in sizes if size > 0), default=1.0)
    return min(MOST_DECIMALS, max(FEWEST_DECIMALS, -math.floor(math.log10(least))))


def sides_of(points: Sequence[Point], change_seconds: float | None) -> list[Sequence[Point]]:
    """The points before and after a change, or all of them where there is none."""
    if change_seconds is None:
        return [points]
    before = [point for point in points if point[0] <= change_seconds]
    return [before, points[len(before) :]]


def theil_sen(*sides: Sequence[Point]) -> float:
    """The median of the slopes between any two points of the same side, which a few wild ones do not bend."""
    pairs = [(a, b) for points in sides for at, a in enumerate(points) for b in points[at + 1 :]]
    return median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs])


def lines_through(
    points: Sequence[Point], percent_per_minute: float, change_seconds: float | None = None
) -> list[tuple[Point, Point]]:
    """Both ends of the line that such a drift means for these points; of a line on either side of a change."""
    slope = percent_per_minute * median([rate for _, rate in points]) / 6000
    return [_line(side, slope) for side in sides_of(points, change_seconds) if side]


def _line(points: Sequence[Point], slope: float) -> tuple[Point, Point]:
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


def _half_width(sides: Sequence[Sequence[Point]], slope: float) -> float:
    """Half of the 95 % interval of the slope, for noise that fades from each span to the next.

    Every side has a level of its own, which costs a degree of freedom and hides some of the noise.
    """
    residuals = [value for side in sides for value in _residuals(side, slope)]
    count, fitted = len(residuals), 1 + len(sides)
    deviation = deviation_of(residuals) * math.sqrt((count - 2) / (count - fitted))
    alike = _likeness(residuals, 3 * deviation, len(sides))
    inflation = (1 + alike) / (1 - alike)
    spread = math.sqrt(math.fsum(_squares(side) for side in sides))
    independent = max(fitted + 1, round(count / inflation)) - fitted
    return t_quantile(independent) * _LOST_EFFICIENCY * deviation * math.sqrt(inflation) / spread


def _residuals(side: Sequence[Point], slope: float) -> list[float]:
    left = [rate - slope * at for at, rate in side]
    center = median(left)
    return [value - center for value in left]


def _squares(side: Sequence[Point]) -> float:
    """How far the times lie from their mean, in squares."""
    middle = math.fsum(at for at, _ in side) / len(side)
    return math.fsum((at - middle) ** 2 for at, _ in side)


def _likeness(residuals: Sequence[float], limit: float, levels: int) -> float:
    """Correlation of neighbours, outliers cut. Fitted lines hide some of it, which is put back; never below zero."""
    cut = [max(-limit, min(limit, value)) for value in residuals]
    power = math.fsum(value * value for value in cut)
    if power <= 0:
        return 0.0
    seen = math.fsum(a * b for a, b in pairwise(cut)) / power
    return min(MOST_ALIKE, max(0.0, seen + levels * (1 + 4 * seen) / len(cut)))
