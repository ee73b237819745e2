"""The loss of one batch: the user's own, the model's own, or cross entropy of the scores it returned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.batches import seeded
from traindyno.worker.knobs.accumulation import WHOLE, Share
from traindyno.worker.models.torchvision_models import auxiliary_weight_of

SCORE_KEYS = ("logits", "out")
CLASS_DTYPES = (torch.uint8, torch.int16, torch.int32, torch.int64)
# What torch's cross entropy takes for classes.
LABEL_DTYPES = (torch.uint8, torch.int64)
# What torch's cross entropy leaves out, such as the padding of sentences.
IGNORED_TARGET = -100
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
    """From a model's output to a scalar; a missing target is made up once and kept for the next steps.

    What is made up follows from the seed and the whole batch alone: whatever the settings, every example has the same
    target, in whichever part of the batch it comes. `label_smoothing` is for cross entropy alone. Without an
    `auxiliary_weight` the output tells how its auxiliary heads count.
    """

    loss: Callable[[Any, Any], Tensor] | None = None
    classes: int | None = None
    auxiliary_weight: float | None = None
    seed: int = 0
    label_smoothing: float = 0.0
    _looked: bool = field(default=False, init=False, repr=False)
    _made_up: Tensor | None = field(default=None, init=False, repr=False)
    _made_up_for: tuple[torch.Size, torch.device, torch.dtype] | None = field(default=None, init=False, repr=False)

    def __call__(self, output: Any, target: Any, share: Share = WHOLE) -> Tensor:
        if not self._looked:
            self._look(output, target)
        try:
            return self._loss_of(output, target, share)
        except IndexError:
            check_classes(output, target)
            raise

    def _look(self, output: Any, target: Any) -> None:
        """A GPU stops for good at a class that there is no score for, so the first batch is looked at before."""
        self._looked = True
        if not isinstance(target, Tensor) or not self.averages_targets(output):
            return
        check_labels(output, target)
        if target.device.type != "cpu":
            check_classes(output, target)

    def _loss_of(self, output: Any, target: Any, share: Share) -> Tensor:
        if self.loss is not None:
            return scalar(self.loss(output, self._target(output, share) if target is None else target), "loss")
        own = own_loss(output)
        if own is not None:
            check_not_smoothed(self.label_smoothing, "the model computes its own loss")
            return own
        if target is None:
            target = self._target(output, share)
        return self._default(output, target)

    def averages_targets(self, output: Any) -> bool:
        """Whether the loss of an output is known to be the mean over all targets that are not ignored."""
        if self.loss is None:
            return own_loss(output) is None
        return self.loss is functional.cross_entropy or _is_plain_cross_entropy(self.loss)

    def _default(self, output: Any, target: Any) -> Tensor:
        loss = score_loss(require_scores(output), target, self.label_smoothing)
        heads = auxiliary_scores(output)
        weight = self._weight_of_heads(output) if heads else 0.0
        for scores in heads if weight else ():
            loss = loss + weight * score_loss(scores, target, self.label_smoothing)
        return loss

    def _weight_of_heads(self, output: Any) -> float:
        """What was given, or what is published for a model known by its output; heads of others do not count."""
        return (auxiliary_weight_of(output) or 0.0) if self.auxiliary_weight is None else self.auxiliary_weight

    def _target(self, output: Any, share: Share) -> Tensor | None:
        """Made up to fit the output; a user's own loss also gets along without scores in the output."""
        scores = find_scores(output) if self.loss is not None else require_scores(output)
        if scores is None:
            return None
        shape = torch.Size((share.of * size if axis == 0 else size for axis, size in enumerate(scores.shape)))
        if self._made_up is None or self._made_up_for != (shape, scores.device, scores.dtype):
            self._made_up_for = (shape, scores.device, scores.dtype)
            self._made_up = self._make_up(shape, scores)
        return self._made_up if share.of == 1 else self._made_up.chunk(share.of)[share.number]

    def _make_up(self, shape: torch.Size, scores: Tensor) -> Tensor:
        generator = seeded(scores.device, self.seed)
        if isinstance(self.loss, VALUE_LOSSES) or self.loss in VALUE_LOSS_FUNCTIONS:
            values = torch.rand(shape, dtype=torch.float32, device=scores.device, generator=generator)
            return values.to(scores.dtype)
        target = random_target(shape, generator, self.classes)
        return target.to(scores.dtype) if target.is_floating_point() else target


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
        found = "a single number" if scores is output else f"a {type(output).__name__}"
        found += " that begins with a single number" if scores is not None and isinstance(output, tuple | list) else ""
        keys = f" with keys {', '.join(map(str, output))}" if isinstance(output, Mapping) else ""
        raise TraindynoError(
            f"the model returned {found}{keys}, in which no class scores were found for the default loss",
            "give loss=lambda output, target: ... or training_step, to the Workload or to traindyno.apply",
        )
    return scores


def auxiliary_scores(output: Any) -> list[Tensor]:
    """What the auxiliary heads returned; nothing in evaluation mode."""
    names = [name for name in getattr(output, "_fields", ()) if name.startswith("aux")]
    return [scores for scores in (getattr(output, name) for name in names) if isinstance(scores, Tensor)]


def random_target(shape: torch.Size, generator: torch.Generator, classes: int | None = None) -> Tensor:
    """A class per example (per position, per pixel), or a value where the scores of this shape have width one."""
    if _width_one(shape):
        return torch.randn(shape, dtype=torch.float32, device=generator.device, generator=generator)
    dimension = _class_dimension(shape)
    width = shape[dimension]
    if classes is not None and classes > width:
        raise TraindynoError(
            f"{classes} classes were asked for, but the model returns scores for {width}",
            "let the model have as many outputs as classes, or leave --classes away",
        )
    sizes = [size for axis, size in enumerate(shape) if axis != dimension]
    return torch.randint(classes or width, sizes, device=generator.device, generator=generator)


def score_loss(scores: Tensor, target: Any, label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy; mean squared error where the output has width one."""
    if not isinstance(target, Tensor):
        raise TraindynoError(
            f"the target is a {type(target).__name__}, which the default loss cannot use",
            "give loss=lambda output, target: ..., to the Workload or to traindyno.apply",
        )
    if _width_one(scores.shape):
        check_not_smoothed(label_smoothing, "the model's output is one value, not scores of classes")
        return functional.mse_loss(scores, target.to(scores.dtype).reshape(scores.shape))
    dimension = _class_dimension(scores.shape, target)
    return functional.cross_entropy(scores.movedim(dimension, 1), target, label_smoothing=label_smoothing)


def check_classes(output: Any, target: Any) -> None:
    """Refuse targets that are classes for which the output has no scores; it waits for the device."""
    scores = find_scores(output)
    if scores is None or not isinstance(target, Tensor) or target.dtype not in CLASS_DTYPES or not target.numel():
        return
    if scores.dim() == 0 or _width_one(scores.shape):
        return
    width, asked = scores.shape[_class_dimension(scores.shape, target)], target[target != IGNORED_TARGET]
    lowest, highest = (int(asked.min()), int(asked.max())) if asked.numel() else (0, 0)
    if lowest < 0 or highest >= width:
        raise UsageError(
            f"the targets of a batch go from {lowest} to {highest}, and the model has scores for {width} classes, "
            f"0 to {width - 1}",
            "let targets count from 0, or give the model more outputs (models by name: --classes); "
            f"{IGNORED_TARGET} marks what is not to be learnt",
        )


def check_labels(output: Any, target: Tensor) -> None:
    """Refuse targets that cross entropy takes neither for classes nor for the share of each class."""
    scores = find_scores(output)
    if scores is None or scores.dim() == 0 or _width_one(scores.shape) or target.dtype in LABEL_DTYPES:
        return
    dimension = _class_dimension(scores.shape, target)
    if target.is_floating_point() and target.shape == scores.movedim(dimension, 1).shape:
        return
    kind = str(target.dtype).removeprefix("torch.")
    raise UsageError(
        f"the targets of a batch are of type {kind}, and the model has scores for {scores.shape[dimension]} classes",
        "let targets be whole numbers that count the classes from 0 (target.long()), or give a loss for such values: "
        "loss=lambda output, target: ..., to the Workload or to traindyno.apply",
    )


def check_not_smoothed(label_smoothing: float, reason: str) -> None:
    if label_smoothing:
        raise UsageError(f"label smoothing is for cross entropy, and {reason}", "leave --label-smoothing away")


def hits(scores: Tensor | None, target: Any) -> tuple[Tensor, Tensor] | None:
    """How many targets the highest scores are right about, and of how many; null where targets are no classes."""
    if scores is None or not isinstance(target, Tensor) or target.dtype not in CLASS_DTYPES or _width_one(scores.shape):
        return None
    classified = scores.movedim(_class_dimension(scores.shape, target), 1).argmax(dim=1)
    if classified.shape != target.shape:
        return None
    asked = target != IGNORED_TARGET
    return ((classified == target) & asked).sum(), asked.sum()


def scalar(loss: Any, origin: str) -> Tensor:
    """The loss if it is one number to go backward from."""
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return loss
    shape = f" of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else ""
    raise TraindynoError(
        f"{origin} returned a {type(loss).__name__}{shape}",
        f"{origin} must return a tensor with one number, such as the mean over the batch",
    )


def _is_plain_cross_entropy(loss: Any) -> bool:
    plain = type(loss) is nn.CrossEntropyLoss and loss.weight is None
    return plain and loss.reduction == "mean" and loss.ignore_index == IGNORED_TARGET


def _width_one(shape: torch.Size) -> bool:
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _class_dimension(shape: torch.Size, target: Tensor | None = None) -> int:
    """Last in examples × positions × classes, as sequence models return; second in everything else."""
    if len(shape) != 3:
        return 1
    classes_second = target is not None and target.dim() == 2 and target.shape[1] != shape[1]
    return 1 if classes_second else 2
