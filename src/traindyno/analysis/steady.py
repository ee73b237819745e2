"""Whether a running trial has settled: from which block on its step time no longer changes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from traindyno.analysis.intervals import median, median_interval, relative_half_width

_NORMAL_MEDIAN_DIFFERENCE = 0.9539
"""Median distance of two successive values of a normal distribution, in standard deviations."""

_FEWEST_SAMPLES = 3

_WINDOWS_FOR_NOISE = 16
"""With fewer, noise is often taken for too low, and then blocks are discarded that are like all others."""


def steady_from(block_step_seconds: Sequence[float], window: int = 3, tolerance: float = 0.02) -> int | None:
    """The index of the first block of the steady state, or None while there is none.

    The last two windows of blocks set the level. Going back from the end, a window belongs to the steady
    state while its median agrees with the level, to the tolerance or to the noise between successive blocks,
    whichever is wider. The part found must span two windows and show no trend: its halves agree, and its last
    blocks do not all go one way. If it does trend, only its later half may count. Medians of windows shrug
    off single slow blocks; slow blocks at the very beginning are cut off.

    Slow steps leave no room for two windows: of fewer blocks, down to one window, all must agree to the tolerance.
    """
    times = block_step_seconds
    if len(times) < 2 * window:
        return 0 if len(times) >= window and _all_agree(times, tolerance) else None
    level = median(times[-2 * window :])
    noise = _noise(times[-_WINDOWS_FOR_NOISE * window :])
    start = _agreeing_from(times, level, max(tolerance * level, 2 * noise), window)
    while len(times) - start >= 2 * window:
        if not _trends(times[start:], level * tolerance / 2, noise, window):
            return start
        start += max(1, (len(times) - start) // 2)
    return None


def enough(block_step_seconds: Sequence[float], least_blocks: int, precise: Callable[[Sequence[float]], bool]) -> bool:
    """Whether measuring may stop: the steady blocks are precise at the last look, and were at the one before.

    An interval may be narrow by chance, and to stop the first time that it is would pick just those moments: a 95 %
    interval would hold the truth in 90 % of cases. For the same reason those that count are at least twice as many as
    those discarded before them.
    """
    before = block_step_seconds[:-1]
    return _precise_look(block_step_seconds, least_blocks, precise) and _precise_look(before, least_blocks - 1, precise)


def _precise_look(times: Sequence[float], least_blocks: int, precise: Callable[[Sequence[float]], bool]) -> bool:
    start = steady_from(times)
    return start is not None and len(times) - start >= max(least_blocks, 2 * start) and precise(times[start:])


def precise_enough(samples: Sequence[float], relative_interval: float) -> bool:
    """Whether the 95 % interval of the median lies within the wanted share of it, 0.01 for ±1 %."""
    if len(samples) < _FEWEST_SAMPLES:
        return False
    return relative_half_width(median(samples), median_interval(samples)) <= relative_interval


def _agreeing_from(times: Sequence[float], level: float, allowed: float, window: int) -> int:
    start = len(times) - window
    if abs(median(times[start:]) - level) > allowed:
        return len(times)
    while start > 0 and abs(median(times[start - 1 : start - 1 + window]) - level) <= allowed:
        start -= 1
    while start < len(times) and abs(times[start] - level) > allowed:
        start += 1
    return start


def _all_agree(times: Sequence[float], tolerance: float) -> bool:
    """Whether none is far from the middle one, and they do not all go one way."""
    level = median(times)
    return all(abs(each - level) <= tolerance * level for each in times) and not _one_way(times, level * tolerance / 2)


def _trends(times: Sequence[float], allowed: float, noise: float, window: int) -> bool:
    """Whether the halves differ by more than chance, or the last two windows only climb or only fall."""
    half = len(times) // 2
    by_chance = 2.5 * 1.77 * noise / half**0.5
    if abs(median(times[:half]) - median(times[half:])) > max(allowed, by_chance):
        return True
    return _one_way(times[-2 * window :], allowed)


def _one_way(times: Sequence[float], allowed: float) -> bool:
    """Whether blocks only climb or only fall, and by more than this."""
    steps = [after - before for before, after in pairwise(times)]
    one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return one_way and abs(times[-1] - times[0]) > allowed


def _noise(times: Sequence[float]) -> float:
    """Standard deviation of single blocks, by successive differences: ramps and spikes hardly inflate it."""
    return median([abs(b - a) for a, b in pairwise(times)]) / _NORMAL_MEDIAN_DIFFERENCE
