"""Whether a switch leaves training as it was: its loss after a short run beside the baseline's.

The comparison is at equal seeds: at the first, and where that differs too much, at three and then at five on average.
How far the baseline's own losses lie apart over its seeds says how much of a difference means nothing.
"""

import math
from collections.abc import Sequence

from traindyno.core.base import Record

STEPS = 100
SEEDS = 3
LOOKS = (1, SEEDS, 5)
"""Seeds after which a loss may be found to agree; whether it differs is decided by the last of them."""
LARGEST_BATCH = 32
LAST_STEPS = 10
# So little of the way means nothing: it is a step or two of a hundred. A network that learns its few batches by heart
# ends at nearly the same loss with every seed.
NOTHING_OF_THE_FALL = 0.02


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


def loss_fall(losses: Sequence[float]) -> float:
    """How far the loss came down; zero where it did not."""
    return max(0.0, losses[0] - final_loss(losses)) if losses else 0.0


def check_loss(finals: Sequence[float], candidate: Sequence[float], fall: float = 0.0) -> LossCheck:
    """The candidate's final losses beside the baseline's at the same seeds, of which the candidate may have fewer.

    How far the baseline's lie apart is asked of as many seeds as the candidate has, or of three. `fall` is how far the
    baseline's loss came down.
    """
    spread = loss_spread(finals[: max(SEEDS, len(candidate))])
    if spread is None:
        return LossCheck(note="the baseline's own losses are not known or not finite")
    differences = [mine - theirs for mine, theirs in zip(candidate, finals, strict=False)]
    difference = math.fsum(differences) / len(differences)
    if not math.isfinite(difference):
        return LossCheck(agrees=False, note="the loss is not finite")
    return LossCheck(agrees=abs(difference) <= max(spread, NOTHING_OF_THE_FALL * fall), difference=difference)
