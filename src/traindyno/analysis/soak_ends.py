"""Whether a run ended slower or faster than it began, for a change that is neither a line nor a step."""

from collections.abc import Sequence
from itertools import pairwise

from traindyno.analysis.intervals import median
from traindyno.analysis.soak_drift import FEWEST_SPANS, Point, deviation_of, spans_of, theil_sen

PARTS = 5
LEAST_CHANGE = 0.02
DEVIATIONS = 4.0
MOST_BACK = 0.2


def ends_ratio(points: Sequence[Point]) -> float | None:
    """The rate of the last fifth by that of the first; null where they differ too little, or by wavering alone.

    The difference must stand out from the scatter within both ends. Noise with a long memory also carries the ends
    apart, but on its way it goes back and forth: from fifth to fifth no more than a part of the change may be undone.
    """
    if len(points) < FEWEST_SPANS:
        return None
    parts = _parts(points)
    levels = [median([rate for _, rate in part]) for part in parts]
    change = levels[-1] - levels[0]
    scatter = max(_scatter(parts[0]), _scatter(parts[-1]))
    if abs(change) <= max(LEAST_CHANGE * levels[0], DEVIATIONS * scatter):
        return None
    undone = max((before - after) * (1 if change > 0 else -1) for before, after in pairwise(levels))
    return None if undone > MOST_BACK * abs(change) else levels[-1] / levels[0]


def _parts(points: Sequence[Point]) -> list[Sequence[Point]]:
    cuts = [round(number * len(points) / PARTS) for number in range(PARTS + 1)]
    return [points[start:end] for start, end in pairwise(cuts)]


def _scatter(points: Sequence[Point]) -> float:
    """Around the points' own line: what changes steadily within a part is no noise."""
    spans = spans_of(points)
    slope = theil_sen(spans) if len(spans) > 1 else 0.0
    return deviation_of([rate - slope * at for at, rate in points])
