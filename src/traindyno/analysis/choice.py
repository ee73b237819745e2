"""Which batch size to take from a measured curve, and from where on throughput is saturated.

Words used here: a size *reaches* the best when it is not significantly below 97 % of it. Precisely, its
throughput is at least 97 % of the best, or its interval reaches up to 97 % while the value itself is at least
95 %. Only points that are steady and not noisy get that benefit of the doubt, so that a wide interval wins
nothing. A size is *safe* when its peak leaves the margin of the memory free and no size as small as it ran
out of memory.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from traindyno.analysis.curve import NOISY, NOT_STEADY, marks_of
from traindyno.core.answers import CurvePoint
from traindyno.core.base import Record

T = TypeVar("T")
NEAR_BEST = 0.97
_DOUBTFUL = 0.95
_GAIN_OF_DOUBLING = 1.03
_SMALLEST_STRIDE = 1.4


class BatchChoice(Record, frozen=True):
    """`best` is the fastest of all sizes measured; the others keep to safe ones while there are any."""

    best: int
    recommended: int
    fastest: int
    largest: int
    saturated_from: int | None


def choose_batch(curve: Sequence[CurvePoint], margin: float, out_of_memory_from: int | None = None) -> BatchChoice:
    """What a curve offers. Without saturation the largest safe batch is recommended, unless it is slower."""
    best = best_point(curve)
    safe = safe_points(curve, margin, out_of_memory_from) or list(curve)
    fastest = best_point(safe)
    saturated = saturated_from(curve)
    if saturated is None and _reaches(safe[-1], fastest):
        recommended = safe[-1]
    else:
        recommended = next(point for point in safe if _reaches(point, fastest))
    return BatchChoice(
        best=best.batch_size,
        recommended=recommended.batch_size,
        fastest=fastest.batch_size,
        largest=safe[-1].batch_size,
        saturated_from=saturated,
    )


def best_point(curve: Sequence[CurvePoint]) -> CurvePoint:
    """The fastest point. A noisy or unsteady one counts only if even its lower end beats all the others."""
    return best_of(curve, _rate, lambda point: point.ci95[0], trusted)


def soonest(
    items: Sequence[T], seconds: Callable[[T], float], latest: Callable[[T], float], is_sound: Callable[[T], bool]
) -> T:
    """The shortest time, by the rule of the fastest point: the far end of a time is the later one."""
    return best_of(items, lambda item: -seconds(item), lambda item: -latest(item), is_sound)


def best_of(
    items: Sequence[T], rate: Callable[[T], float], least: Callable[[T], float], is_sound: Callable[[T], bool]
) -> T:
    """The highest rate. What is not sound counts only if even the least that it may be beats all the others."""
    sound_ones = [item for item in items if is_sound(item)]
    if not sound_ones:
        return max(items, key=rate)
    best = max(sound_ones, key=rate)
    return max([best, *(item for item in items if least(item) > rate(best))], key=rate)


def safe_points(curve: Sequence[CurvePoint], margin: float, out_of_memory_from: int | None = None) -> list[CurvePoint]:
    """The points that leave the margin of the memory free; unknown memory counts as free."""
    return [
        point
        for point in curve
        if (point.memory_share is None or point.memory_share <= 1 - margin)
        and (out_of_memory_from is None or point.batch_size < out_of_memory_from)
    ]


def saturated_from(curve: Sequence[CurvePoint]) -> int | None:
    """The smallest batch from which every size up to the best reaches it and doubling gains less than 3 %.

    None when no such size was measured, as on a curve that still rises at its end, and when points too noisy to
    tell may be faster than the best.
    """
    best = best_point(curve)
    if noisy_rivals(curve):
        return None
    for index, point in enumerate(curve):
        if point.batch_size > best.batch_size:
            return None
        onwards = [other for other in curve[index:] if other.batch_size <= best.batch_size]
        if all(_reaches(other, best) for other in onwards):
            gain = _gain_of_doubling(point, curve)
            if gain is not None and gain < _GAIN_OF_DOUBLING:
                return point.batch_size
    return None


def noisy_rivals(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Noisy or unsteady points that may well be faster than the best of the others.

    They look faster, or lie beyond every size that can be trusted and may be faster for all their interval says.
    """
    best = best_point(curve)
    largest_sound = max((point.batch_size for point in curve if trusted(point)), default=0)
    return [
        point
        for point in curve
        if point != best
        and not trusted(point)
        and point.ci95[1] > best.examples_per_second * _GAIN_OF_DOUBLING
        and (point.examples_per_second > best.examples_per_second or point.batch_size > largest_sound)
    ]


def _gain_of_doubling(point: CurvePoint, curve: Sequence[CurvePoint]) -> float | None:
    """Throughput at about twice the size over that at the size; None when nothing that large was measured.

    The measured size nearest to the double is taken. If it falls short of the double, its gain is scaled up
    as if the curve went on as steeply; beyond the double it is taken whole, which never flatters.
    """
    larger = [other for other in curve if other.batch_size >= _SMALLEST_STRIDE * point.batch_size]
    if not larger:
        return None
    nearest = min(larger, key=lambda other: abs(math.log2(other.batch_size / point.batch_size) - 1))
    gain = nearest.examples_per_second / point.examples_per_second
    octaves = min(1.0, math.log2(nearest.batch_size / point.batch_size))
    return math.exp(math.log(gain) / octaves)


def _reaches(point: CurvePoint, best: CurvePoint) -> bool:
    share = point.examples_per_second / best.examples_per_second
    if share >= NEAR_BEST:
        return True
    reaches_up = point.ci95[1] >= NEAR_BEST * best.examples_per_second
    return trusted(point) and share >= _DOUBTFUL and reaches_up


def trusted(point: CurvePoint) -> bool:
    """Steady, and with an interval narrow enough to compare."""
    return not doubts(marks_of(point))


def doubts(marks: Sequence[str]) -> tuple[str, ...]:
    """Those of the marks for which a measured size is not compared as others are."""
    return tuple(mark for mark in marks if mark in (NOT_STEADY, NOISY))


def _rate(point: CurvePoint) -> float:
    return point.examples_per_second
