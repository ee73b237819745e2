"""Whether a switch leaves training as it was: its loss after a short run beside the baseline's.

The comparison is at one seed. How far the baseline's own losses lie apart over three seeds says how much of a
difference means nothing.
"""

import math
from collections.abc import Sequence

from traindyno.core.base import Record

STEPS = 100
SEEDS = 3
LARGEST_BATCH = 32
LAST_STEPS = 10


class LossCheck(Record, frozen=True):
    """`agrees` is null where it was not looked at, or could not be, for the reason in `note`.

    `failed` says that the run with the switch broke down.
    """

    agrees: bool | None = None
    difference: float | None = None
    note: str | None = None
    failed: bool = False

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against it: the loss agrees, or there was no need or no way to compare it."""
        return self.agrees is not False and not self.failed


def final_loss(losses: Sequence[float]) -> float:
    """The mean of the last steps' losses: a single step's is too much of one batch."""
    last = losses[-LAST_STEPS:]
    return math.fsum(last) / len(last) if last else math.nan


def loss_spread(finals: Sequence[float]) -> float | None:
    """How far the baseline's final losses lie apart over its seeds; null if one of them is missing or no number."""
    if len(finals) < SEEDS or not all(math.isfinite(loss) for loss in finals):
        return None
    return max(finals) - min(finals)


def check_loss(finals: Sequence[float], candidate: float) -> LossCheck:
    """The candidate's final loss beside the baseline's at the same seed, which is the first."""
    spread = loss_spread(finals)
    if spread is None:
        return LossCheck(note="the baseline's own losses are not known or not finite")
    difference = candidate - finals[0]
    if not math.isfinite(difference):
        return LossCheck(agrees=False, note="the loss is not finite")
    return LossCheck(agrees=abs(difference) <= spread, difference=difference)
