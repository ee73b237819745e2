"""What a run has come to so far: its evaluations, its stretches of steps, and whether it is over."""

import itertools
import math

import msgspec

from traindyno.core.base import Record
from traindyno.core.learning import Evaluation, Target
from traindyno.core.records import Block


class Story(Record, frozen=True):
    """Everything that a run tells at its end, and that must outlive an interruption.

    `blocks` are the stretches between evaluations by the training clock, which stands still while anything else is
    done. `first_step_seconds` are part of the first stretch. `pending` are steps since the last evaluation, of a run
    that was kept between two, and `pending_loss` is the sum of their losses. A `pruned` run has missed a
    floor, and is over. `began_finite` says whether the loss of the run's first step was a number.
    """

    blocks: tuple[Block, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    evaluation_seconds: float = 0.0
    first_step_seconds: float | None = None
    diverged: bool = False
    pruned: bool = False
    resumed_from: tuple[int, ...] = ()
    pending: Block | None = None
    pending_loss: float = 0.0
    began_finite: bool | None = None

    @property
    def seconds(self) -> float:
        return math.fsum(block.seconds for block in self._all_blocks)

    @property
    def steps(self) -> int:
        return sum(block.steps for block in self._all_blocks)

    @property
    def _all_blocks(self) -> tuple[Block, ...]:
        return self.blocks if self.pending is None else (*self.blocks, self.pending)

    @property
    def usual_step_seconds(self) -> float | None:
        """The mean step, without the first where there are others; null before any."""
        if self.first_step_seconds is None or self.steps < 2:
            return self.seconds / self.steps if self.steps else None
        return (self.seconds - self.first_step_seconds) / (self.steps - 1)

    def grown(self, block: Block, loss: float, first_step_seconds: float | None = None) -> "Story":
        """With further steps since the last evaluation, whose losses have this sum."""
        before = self.pending or Block(steps=0, seconds=0.0)
        return msgspec.structs.replace(
            self,
            pending=Block(steps=before.steps + block.steps, seconds=before.seconds + block.seconds),
            pending_loss=self.pending_loss + loss,
            first_step_seconds=first_step_seconds if self.first_step_seconds is None else self.first_step_seconds,
        )


def next_evaluation(step: int, planned_steps: int, batch_size: int, every_examples: int) -> int:
    """The step after which the next evaluation comes: the first at which a multiple of `every_examples` is done.

    So runs of different batch sizes are evaluated after the same examples, as nearly as whole steps allow.
    """
    multiple = step * batch_size // every_examples + 1
    return min(planned_steps, -(-multiple * every_examples // batch_size))


def reached(target: Target | None, evaluations: tuple[Evaluation, ...]) -> Evaluation | None:
    """The first evaluation that met the target and was confirmed by the next.

    A run whose very last evaluation is the first to meet it has not reached it: one may be luck.
    """
    if target is None:
        return None
    met = [target.is_met_by(each.accuracy, each.loss) for each in evaluations]
    pairs = zip(evaluations, itertools.pairwise(met), strict=False)
    return next((each for each, both in pairs if all(both)), None)


def best(evaluations: tuple[Evaluation, ...]) -> Evaluation | None:
    """The one of the highest accuracy, or of the lowest loss where there is no accuracy; the first of equals."""
    return max((each for each in evaluations if math.isfinite(each.loss)), key=score, default=None)


def score(evaluation: Evaluation) -> float:
    """What the best has most of."""
    return -evaluation.loss if evaluation.accuracy is None else evaluation.accuracy
