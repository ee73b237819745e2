"""What one learning curve shows: overfitting, an end that came too soon or too late, and how far it swings.

Curves are noisy, so nothing counts as a rise or a fall that is not larger than twice its noise.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from traindyno.core.base import Record
from traindyno.core.rounds import CurvePlace

FEWEST_PLACES = 5
_LATE_SHARE = 0.25
_CLEAR = 2.0
_SMALL_PART = 0.05
"""Of all that a run improved by: what more or less of it changes nothing."""
_EARLY = 0.5
_FEWEST_LATE = 3


class CurveShape(Record, frozen=True):
    """Figures in the metric's own unit, more being better: null where there is nothing of the kind.

    `overfits_from` is the share of the run after which the loss on other examples rose while the training loss fell.
    `improving` is what the last quarter still gained. `swing` is the spread within it, its trend taken away.
    `saturated_at` is the share after which nothing changed. `lost` is what the end has less than the best before it,
    which was at `best_at`.
    """

    swing: float
    best_at: float
    overfits_from: float | None = None
    improving: float | None = None
    saturated_at: float | None = None
    lost: float | None = None


def shape_of(curve: Sequence[CurvePlace], sign: float, tolerance: float = 0.0) -> CurveShape | None:
    """The shape of a curve; null where it has too few places. Changes below `tolerance` do not count."""
    values = [sign * place.value for place in curve]
    if len(values) < FEWEST_PLACES or not all(map(math.isfinite, values)):
        return None
    noise, total = noise_of(values), max(values) - values[0]
    small = max(tolerance, _SMALL_PART * total)
    best = max(range(len(values)), key=lambda index: values[index])
    late = values[-max(_FEWEST_LATE, math.ceil(_LATE_SHARE * len(values))) :]
    return CurveShape(
        swing=_around_trend(late),
        best_at=curve[best].share,
        overfits_from=_overfitting(curve),
        improving=_improving(late, noise, small),
        saturated_at=_saturated(curve, values, max(small, _CLEAR * noise)),
        lost=_lost(values, noise, small),
    )


def noise_of(values: Sequence[float]) -> float:
    """The spread of single values around a smooth curve, from second differences over the later half of it."""
    later = values[-max(4, math.ceil(len(values) / 2)) :]
    bends = [after - 2 * here + before for before, here, after in zip(later, later[1:], later[2:], strict=False)]
    return math.sqrt(math.fsum(bend**2 for bend in bends) / (6 * len(bends)))


def _line(values: Sequence[float]) -> tuple[float, float]:
    """Mean and slope for each place."""
    middle, mean = (len(values) - 1) / 2, math.fsum(values) / len(values)
    squares = math.fsum((index - middle) ** 2 for index in range(len(values)))
    return mean, math.fsum((index - middle) * value for index, value in enumerate(values)) / squares


def _around_trend(values: Sequence[float]) -> float:
    mean, slope = _line(values)
    middle = (len(values) - 1) / 2
    apart = math.fsum((value - mean - slope * (index - middle)) ** 2 for index, value in enumerate(values))
    return math.sqrt(apart / (len(values) - 2))


def _improving(late: Sequence[float], noise: float, small: float) -> float | None:
    """What the late part gained, along its line, if that is more than its error and not little."""
    count = len(late)
    gain = _line(late)[1] * (count - 1)
    error = noise * math.sqrt(12 / (count**3 - count)) * (count - 1)
    return gain if gain > max(_CLEAR * error, small) else None


def _saturated(curve: Sequence[CurvePlace], values: Sequence[float], reach: float) -> float | None:
    """The share after which all values stayed within reach of their end, if that was in the first half."""
    end = math.fsum(values[-_FEWEST_LATE:]) / _FEWEST_LATE
    inside = [abs(value - end) <= reach for value in values]
    first = next((index for index in range(len(values)) if all(inside[index:])), None)
    if first is None or first == 0 or curve[first].share > _EARLY:
        return None
    return curve[first].share


def _lost(values: Sequence[float], noise: float, small: float) -> float | None:
    """What the last two have less than the best two in a row before; single ones would be the luckiest of many."""
    pairs = [(one + two) / 2 for one, two in pairwise(values)]
    lost = max(pairs) - pairs[-1]
    return lost if lost > max(_CLEAR * noise, small) else None


def _overfitting(curve: Sequence[CurvePlace]) -> float | None:
    """Where the loss on other examples was least, if it has clearly risen since and the training loss has fallen."""
    known = [place for place in curve if place.loss is not None and place.training_loss is not None]
    losses = [place.loss for place in known if place.loss is not None]
    training = [place.training_loss for place in known if place.training_loss is not None]
    if len(known) < FEWEST_PLACES or not all(map(math.isfinite, losses)):
        return None
    least = min(range(len(losses)), key=lambda index: losses[index])
    risen = (losses[-1] + losses[-2]) / 2 - losses[least]
    clear = max(_CLEAR * noise_of(losses), _SMALL_PART * (losses[0] - losses[least]))
    has_fallen = training[-1] < training[least]
    return known[least].share if least < len(losses) - 2 and risen > clear and has_fallen else None
