"""Why a loss is no number any more: the data it was made of, or training that diverged."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from traindyno.worker.batches import map_leaves
from traindyno.worker.errors import BadBatchError
from traindyno.worker.handing import split
from traindyno.worker.knobs.accumulation import parts_of
from traindyno.worker.learning.course import Course
from traindyno.worker.losses import CLASS_DTYPES, IGNORED_TARGET

ONLY_IN_EVALUATION = (
    "the loss of the evaluation was no number, although that of the training and all weights were: the evaluation "
    "examples, or what the model makes of them, hold values that are no finite numbers"
)
MEND = "mend such examples or leave them out; look for empty cells and divisions by zero"


def check_batches(course: Course, first_step: int) -> None:
    """Read the batches since that step, counted from 0, once more, and refuse one that could only end so."""
    with course.data.supplying(), course.data.training(first_step) as take:
        for step in range(first_step, course.step_count):
            for part in parts_of(take(), course.settings):
                check_batch(course, part, f"the batch of step {step + 1:,}")
            course.channel.step(course.step_count, planned_steps=course.planned_steps)


def is_lost(course: Course, training_loss: float, evaluation_loss: float) -> bool:
    """Whether the run has nothing to go on with. Where its evaluation alone has no numbers, that is noted."""
    if not math.isfinite(training_loss):
        return True
    if math.isfinite(evaluation_loss):
        return False
    if not _is_finite(course.model):
        return True
    if ONLY_IN_EVALUATION not in course.job.notes:
        course.job.notes.append(ONLY_IN_EVALUATION)
    return False


def check_batch(course: Course, batch: Any, name: str) -> None:
    """Refuse a batch that has no loss whatever the weights are."""
    found: list[bool] = []
    map_leaves(lambda leaf: found.append(_holds_others(leaf)), batch)
    if any(found):
        raise BadBatchError(f"{name} holds values that are no finite numbers", MEND)
    target = split(batch, course.job.signature)[1]
    if isinstance(target, Tensor) and target.dtype in CLASS_DTYPES and bool((target == IGNORED_TARGET).all()):
        raise BadBatchError(
            f"{name} has no target but {IGNORED_TARGET}, which is ignored: it has no mean loss",
            "leave out examples without a target, or use a larger batch",
        )


def _is_finite(model: nn.Module) -> bool:
    return not any(map(_holds_others, model.state_dict().values()))


def _holds_others(value: Any) -> bool:
    """Whether there is anything but finite numbers in a tensor."""
    return isinstance(value, Tensor) and value.is_floating_point() and not bool(torch.isfinite(value).all())
