"""Whether a run became slower or faster all at once: a level that changes, which a line describes badly."""

from collections.abc import Sequence

from traindyno.analysis.intervals import median
from traindyno.analysis.soak_drift import FEWEST_SPANS, Point, lines_through, spans_of, theil_sen
from traindyno.core.base import Record

FEWEST_ASIDE = 3
MUCH_BETTER = 0.5
LEAST_CHANGE = 0.02
DEVIATIONS = 4.0


class Change(Record, frozen=True):
    """From `at_seconds` on the rate was `ratio` of what it had been."""

    at_seconds: float
    ratio: float


def sudden_change(points: Sequence[Point]) -> Change | None:
    """The one change of level that describes a run far better than a line does; null if none does."""
    spans = spans_of(points)
    if len(spans) < FEWEST_SPANS:
        return None
    rates = [rate for _, rate in spans]
    splits = range(FEWEST_ASIDE, len(spans) - FEWEST_ASIDE + 1)
    at = min(splits, key=lambda split: _error(rates[:split]) + _error(rates[split:]))
    before, after = median(rates[:at]), median(rates[at:])
    error = _error(rates[:at]) + _error(rates[at:])
    slope = theil_sen(spans)
    if error > MUCH_BETTER * _error([rate - slope * when for when, rate in spans]):
        return None
    if abs(after - before) < max(LEAST_CHANGE * before, DEVIATIONS * error / len(spans)):
        return None
    return Change(at_seconds=(spans[at - 1][0] + spans[at][0]) / 2, ratio=after / before)


def without_drift(change: Change, points: Sequence[Point], percent_per_minute: float) -> Change:
    """The change where the lines before and after it meet its moment: what drifted on the way is no part of it."""
    before, after = lines_through(points, percent_per_minute, change.at_seconds)
    return Change(at_seconds=change.at_seconds, ratio=after[0][1] / before[1][1])


def _error(values: Sequence[float]) -> float:
    """How far values lie from their median, all together."""
    center = median(values)
    return sum(abs(value - center) for value in values)
