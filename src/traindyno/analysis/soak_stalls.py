"""Stalls that come back: blocks far slower than the others, at regular distances."""

from itertools import pairwise

from traindyno.analysis.intervals import median
from traindyno.analysis.soak_run import SoakRun
from traindyno.core.base import Record
from traindyno.core.soaking import SoakBlock

FEWEST_STALLS = 4
LEAST_SLOWER = 0.1
DEVIATIONS = 6.0
MOST_IRREGULAR = 0.2


class PeriodicStall(Record, frozen=True):
    """Every `period_seconds` about `lost_seconds` are lost."""

    period_seconds: float
    lost_seconds: float
    count: int


def periodic_stall(run: SoakRun) -> PeriodicStall | None:
    """Slow blocks inside of epochs, if they come regularly; null when they do not."""
    blocks = [block for block in run.plain_blocks if block.end_seconds >= run.settled_from]
    if len(blocks) < 3 * FEWEST_STALLS:
        return None
    per_step = [block.seconds / block.steps for block in blocks]
    usual = median(per_step)
    deviation = 1.4826 * median([abs(value - usual) for value in per_step])
    limit = usual + max(LEAST_SLOWER * usual, DEVIATIONS * deviation)
    slow = [(block, value) for block, value in zip(blocks, per_step, strict=True) if value > limit]
    starts = [
        (block, value) for at, (block, value) in enumerate(slow) if at == 0 or not _adjacent(slow[at - 1][0], block)
    ]
    gaps = [b.end_seconds - a.end_seconds for (a, _), (b, _) in pairwise(starts)]
    if len(starts) < FEWEST_STALLS or not _regular(gaps):
        return None
    lost = sum((value - usual) * block.steps for block, value in slow) / len(starts)
    return PeriodicStall(period_seconds=median(gaps), lost_seconds=lost, count=len(starts))


def _adjacent(before: SoakBlock, after: SoakBlock) -> bool:
    """Whether one stall goes over both blocks."""
    return after.end_seconds - after.seconds - before.end_seconds < before.seconds / 2


def _regular(gaps: list[float]) -> bool:
    """Three of four gaps are close to the usual one."""
    usual = median(gaps)
    close = sum(abs(gap - usual) <= MOST_IRREGULAR * usual for gap in gaps)
    return close >= 0.75 * len(gaps)
