"""The loss of one batch: the user's own, the model's own, or cross entropy of the scores it returned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from traindyno.core.errors import TraindynoError

SCORE_KEYS = ("logits", "out")
VALUE_LOSSES = (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCEWithLogitsLoss, nn.BCELoss)
VALUE_LOSS_FUNCTIONS = (
    functional.mse_loss,
    functional.l1_loss,
    functional.smooth_l1_loss,
    functional.huber_loss,
    functional.binary_cross_entropy_with_logits,
    functional.binary_cross_entropy,
)


@dataclass
class Criterion:
    """From a model's output to a scalar; a missing target is made up once and kept for the next steps."""

    loss: Callable[[Any, Any], Tensor] | None = None
    classes: int | None = None
    auxiliary_weight: float = 0.0
    _made_up: Tensor | None = field(default=None, init=False, repr=False)
    _made_up_for: tuple[torch.Size, torch.device] | None = field(default=None, init=False, repr=False)

    def __call__(self, output: Any, target: Any) -> Tensor:
        if self.loss is not None:
            return scalar(self.loss(output, self._target(output) if target is None else target), "loss")
        own = own_loss(output)
        if own is not None:
            return own
        if target is None:
            target = self._target(output)
        return self._default(output, target)

    def _default(self, output: Any, target: Any) -> Tensor:
        loss = score_loss(require_scores(output), target)
        for scores in auxiliary_scores(output) if self.auxiliary_weight else ():
            loss = loss + self.auxiliary_weight * score_loss(scores, target)
        return loss

    def _target(self, output: Any) -> Tensor | None:
        """Made up to fit the output; a user's own loss also gets along without scores in the output."""
        scores = find_scores(output) if self.loss is not None else require_scores(output)
        if scores is None:
            return None
        by_value = isinstance(self.loss, VALUE_LOSSES) or self.loss in VALUE_LOSS_FUNCTIONS
        if self._made_up_for != (scores.shape, scores.device):
            self._made_up_for = (scores.shape, scores.device)
            self._made_up = torch.rand_like(scores) if by_value else random_target(scores, self.classes)
        return self._made_up


def own_loss(output: Any) -> Tensor | None:
    """The loss that the model computed itself, as models do that are given labels."""
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    return loss if isinstance(loss, Tensor) and loss.numel() == 1 else None


def find_scores(output: Any) -> Tensor | None:
    """The output itself, the item `logits` or `out`, `.logits`, or the first tensor of a tuple."""
    if isinstance(output, Tensor):
        return output
    if isinstance(output, Mapping):
        return next((output[key] for key in SCORE_KEYS if isinstance(output.get(key), Tensor)), None)
    logits = getattr(output, "logits", None)
    if isinstance(logits, Tensor):
        return logits
    if isinstance(output, tuple | list):
        return next((item for item in output if isinstance(item, Tensor)), None)
    return None


def require_scores(output: Any) -> Tensor:
    scores = find_scores(output)
    if scores is None or scores.dim() == 0:
        found = f"a {type(output).__name__}" if scores is None else "a single number"
        keys = f" with keys {', '.join(map(str, output))}" if isinstance(output, Mapping) else ""
        raise TraindynoError(
            f"the model returned {found}{keys}, in which no class scores were found for the default loss",
            "give Workload(..., loss=lambda output, target: ...) or training_step",
        )
    return scores


def auxiliary_scores(output: Any) -> list[Tensor]:
    """What the auxiliary heads returned; nothing in evaluation mode."""
    names = [name for name in getattr(output, "_fields", ()) if name.startswith("aux")]
    return [scores for scores in (getattr(output, name) for name in names) if isinstance(scores, Tensor)]


def random_target(scores: Tensor, classes: int | None = None) -> Tensor:
    """A class per example (per position, per pixel), or a value where the output has width one."""
    if _width_one(scores):
        return torch.randn_like(scores)
    dimension = _class_dimension(scores)
    width = scores.shape[dimension]
    if classes is not None and classes > width:
        raise TraindynoError(
            f"{classes} classes were asked for, but the model returns scores for {width}",
            "let the model have as many outputs as classes, or leave --classes away",
        )
    shape = [size for axis, size in enumerate(scores.shape) if axis != dimension]
    return torch.randint(classes or width, shape, device=scores.device)


def score_loss(scores: Tensor, target: Any) -> Tensor:
    """Cross entropy; mean squared error where the output has width one."""
    if not isinstance(target, Tensor):
        raise TraindynoError(
            f"the target is a {type(target).__name__}, which the default loss cannot use",
            "give Workload(..., loss=lambda output, target: ...)",
        )
    if _width_one(scores):
        return functional.mse_loss(scores, target.to(scores.dtype).reshape(scores.shape))
    dimension = _class_dimension(scores, target)
    return functional.cross_entropy(scores.movedim(dimension, 1), target)


def scalar(loss: Any, origin: str) -> Tensor:
    """The loss if it is one number to go backward from."""
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return loss
    shape = f" of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else ""
    raise TraindynoError(
        f"{origin} returned a {type(loss).__name__}{shape}",
        f"{origin} must return a tensor with one number, such as the mean over the batch",
    )


def _width_one(scores: Tensor) -> bool:
    return scores.dim() == 1 or (scores.dim() == 2 and scores.shape[1] == 1)


def _class_dimension(scores: Tensor, target: Tensor | None = None) -> int:
    """Last in examples × positions × classes, as sequence models return; second in everything else."""
    if scores.dim() != 3:
        return 1
    classes_second = target is not None and target.dim() == 2 and target.shape[1] != scores.shape[1]
    return 1 if classes_second else 2
