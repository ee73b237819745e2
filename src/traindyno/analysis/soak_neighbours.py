"""Whether others on the machine slowed a run: foreign processes on the GPU, or CPU load that goes with slow blocks."""

import bisect
import math
from collections.abc import Sequence

from traindyno.analysis.intervals import median
from traindyno.analysis.soak_run import SoakRun
from traindyno.core.base import Record

FEWEST_PAIRS = 20
HIGH_SHARE = 0.2
CLEARLY_OPPOSED = -0.5
LEAST_SLOWER = 0.02


class Neighbours(Record, frozen=True):
    """What others took of the CPUs, usually and at most.

    `slowed` is how much slower blocks were while they took most; null where the two do not go together.
    """

    gpu_processes: int
    usual_share: float | None
    highest_share: float | None
    slowed: float | None


def neighbours_of(run: SoakRun) -> Neighbours:
    counts = [reading.foreign_gpu_processes or 0 for reading in run.readings]
    pairs = _pairs(run)
    shares = [share for share, _ in pairs]
    return Neighbours(
        gpu_processes=max(counts, default=0),
        usual_share=median(shares) if shares else None,
        highest_share=max(shares, default=None),
        slowed=_slowed(pairs),
    )


def _pairs(run: SoakRun) -> list[tuple[float, float]]:
    """What others took of the CPUs, and the rate of the block at that moment."""
    ends = [block.end_seconds for block in run.plain_blocks]
    pairs = []
    for reading in run.readings:
        at = bisect.bisect_left(ends, run.seconds_of(reading))
        if reading.other_cpu_share is not None and at < len(ends) and run.seconds_of(reading) >= run.settled_from:
            pairs.append((reading.other_cpu_share, run.points[at][1]))
    return pairs


def _slowed(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < FEWEST_PAIRS or max(share for share, _ in pairs) < HIGH_SHARE:
        return None
    if rank_correlation([share for share, _ in pairs], [rate for _, rate in pairs]) > CLEARLY_OPPOSED:
        return None
    ordered = sorted(pairs)
    third = len(ordered) // 3
    quiet, loud = (median([rate for _, rate in part]) for part in (ordered[:third], ordered[-third:]))
    return 1 - loud / quiet if loud < quiet * (1 - LEAST_SLOWER) else None


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's; zero where one of both never changes."""
    a, b = _ranks(xs), _ranks(ys)
    middle = (len(a) - 1) / 2
    product = math.fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    size = math.sqrt(math.fsum((x - middle) ** 2 for x in a) * math.fsum((y - middle) ** 2 for y in b))
    return product / size if size > 0 else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    """Places in the order of size, from zero; equal values share the middle of theirs."""
    ordered = sorted(values)
    return [(bisect.bisect_left(ordered, value) + bisect.bisect_right(ordered, value) - 1) / 2 for value in values]
