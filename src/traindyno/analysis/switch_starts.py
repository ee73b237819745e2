"""What a switch takes longer to start: compiling and tuning, and after how many steps that has paid back."""

import math
from collections.abc import Sequence

from traindyno.analysis.intervals import median
from traindyno.core.base import Record
from traindyno.core.records import Arm, Measurement, Pair

AS_AT_FIRST = 0.85
"""Of the first start, from which on a compiler has not found its work on disk."""


class Start(Record, frozen=True):
    """What the baseline's first steps take beyond as many steady ones: its first time, later, and give or take."""

    first_seconds: float
    later_seconds: float
    scatter_seconds: float


def baseline_start(pairs: Sequence[Pair], compiles: bool) -> Start:
    """From all pairs of a study. A baseline that compiles does so once, and later finds its work on disk."""
    starts = sorted(excess_seconds(pair.baseline) for pair in pairs)
    later = starts[:-1] if compiles and len(starts) > 1 else starts
    usual = median(later)
    return Start(
        first_seconds=starts[-1] if compiles else usual, later_seconds=usual, scatter_seconds=max(later) - usual
    )


def warm_up_seconds(pair: Pair, start: Start, *, first: bool) -> float:
    """What the candidate takes longer than the baseline to reach its steady step; what may be chance counts as none."""
    excess = excess_seconds(pair.candidate) - (start.first_seconds if first else start.later_seconds)
    return excess if excess > start.scatter_seconds else 0.0


def warm_up_again(pairs: Sequence[Pair], start: Start, *, compiles: bool) -> float | None:
    """What the second time took. A study that was gone on with in between has compiled anew: then that is not known."""
    if len(pairs) < 2:
        return None
    first, again = (warm_up_seconds(pair, start, first=pair is pairs[0]) for pair in pairs[:2])
    return None if compiles and again > AS_AT_FIRST * first else again


def pays_back_after(pairs: Sequence[Pair], start: Start) -> int | None:
    """From how many steps on the whole run is shorter, the first warm-up included; null if steps are not shorter."""
    gained = median([pair.baseline.step_seconds - pair.candidate.step_seconds for pair in pairs])
    return math.ceil(warm_up_seconds(pairs[0], start, first=True) / gained) if gained > 0 else None


def excess_seconds(timed: Arm | Measurement) -> float:
    """What the first step and the warm-up took beyond as many steady ones."""
    return timed.first_step_seconds + timed.warm_up_seconds - (1 + timed.warm_up_steps) * timed.step_seconds
