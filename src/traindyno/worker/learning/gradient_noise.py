"""One reading of the gradient's noise: micro-batches at the same weights, and nothing of it left behind.

Gradients are read as the loss has them: in the precision of the training, without loss scale, clipping or weight decay.
Adam's are divided by what its own state would divide the next update by, so that lengths are measured as its steps are.
"""

import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from traindyno.analysis.gradient_moments import Moments
from traindyno.core.records import Settings
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.learning.randomness import random_state, set_random_state
from traindyno.worker.steps import mixed

# In fp16 small gradients vanish if the loss is not scaled; what is read is divided by it again.
HALF_PRECISION_SCALE = 1024.0


class GradientReader:
    """Reads the gradients of what a job trains, as its optimiser sees them."""

    def __init__(self, job: Job, optimizer: torch.optim.Optimizer, settings: Settings, device: Device) -> None:
        self._job, self._optimizer, self._settings = job, optimizer, settings
        self._loss = mixed(job.loss, settings, device)
        self._parameters = [parameter for parameter in job.model.parameters() if parameter.requires_grad]
        self._scale = HALF_PRECISION_SCALE if settings.precision == "fp16" else 1.0
        self.preconditioned = is_preconditioned(optimizer)

    @property
    def ready(self) -> bool:
        """Whether the optimiser has all that a reading needs; Adam's state comes with its first step."""
        return not self.preconditioned or bool(self._optimizer.state)

    def read(self, batches: Sequence[Any], micro_batch: int, training_examples: int) -> tuple[Moments, float]:
        """What `batches` of `micro_batch` different examples each say together, and their mean loss."""
        with _eager(self._settings):
            mean, distances, losses = self._gather(batches)
        factors = self._factors(mean, distances, len(batches))
        moments = Moments(
            mean_squared=_total([value.square_() for value in mean], factors),
            distances_squared=_total(distances, factors),
            micro_batch=micro_batch,
            micro_batches=len(batches),
            training_examples=training_examples,
        )
        return moments, math.fsum(losses) / len(losses)

    def _gather(self, batches: Sequence[Any]) -> tuple[list[Tensor], list[Tensor], list[float]]:
        """The mean gradient, the squared distances from it, and the losses.

        One pass that adds up distances from the mean so far: a difference of large sums would lose the small noise of a
        large gradient.
        """
        mean: list[Tensor] = []
        distances: list[Tensor] = []
        losses = []
        for number, batch in enumerate(batches, start=1):
            gradients, loss = self._gradients(batch)
            losses.append(loss)
            if not mean:
                mean, distances = gradients, [torch.zeros_like(gradient) for gradient in gradients]
                continue
            for gradient, so_far, distance in zip(gradients, mean, distances, strict=True):
                gradient.sub_(so_far)
                so_far.add_(gradient, alpha=1 / number)
                distance.addcmul_(gradient, gradient, value=(number - 1) / number)
        return mean, distances, losses

    def _gradients(self, batch: Any) -> tuple[list[Tensor], float]:
        loss = self._loss(self._job.model, batch)
        found = torch.autograd.grad(loss * self._scale, self._parameters, allow_unused=True)
        gradients = [
            torch.zeros_like(parameter, dtype=torch.float32) if gradient is None else gradient.float().div_(self._scale)
            for parameter, gradient in zip(self._parameters, found, strict=True)
        ]
        return gradients, float(loss.detach())

    def _factors(self, mean: Sequence[Tensor], distances: Sequence[Tensor], count: int) -> list[Tensor] | None:
        """What the optimiser multiplies each gradient with, apart from the rate."""
        if not self.preconditioned:
            return None
        groups = {parameter: group for group in self._optimizer.param_groups for parameter in group["params"]}
        squares = (
            value.square().add_(distance, alpha=1 / count) for value, distance in zip(mean, distances, strict=True)
        )
        return [
            _factor(self._optimizer.state.get(parameter), groups[parameter], square)
            for parameter, square in zip(self._parameters, squares, strict=True)
        ]


def is_preconditioned(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimiser divides gradients by the root of their mean square, as Adam and its kind do."""
    return isinstance(optimizer, torch.optim.Adam | torch.optim.NAdam | torch.optim.RAdam)


@contextlib.contextmanager
def unnoticed(model: nn.Module, device: torch.device, seed: int) -> Iterator[None]:
    """Inside, random numbers come from `seed`; afterwards generators and running statistics are as before."""
    state, statistics = random_state(device), [buffer.detach().clone() for buffer in model.buffers()]
    try:
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        yield
    finally:
        set_random_state(state, device)
        with torch.no_grad():
            for buffer, before in zip(model.buffers(), statistics, strict=True):
                buffer.copy_(before)


def _eager(settings: Settings) -> contextlib.AbstractContextManager[Any]:
    """Micro-batches have another shape than batches; compiled for both, training would no longer be what it was."""
    return contextlib.nullcontext() if settings.compile == "none" else torch.compiler.set_stance("force_eager")


def _factor(state: dict[str, Any] | None, group: dict[str, Any], square: Tensor) -> Tensor:
    """As the next step would have it, whose gradient counts in the mean square that it is divided by.

    Without that, a weight whose gradient was always zero so far would be divided by nothing, and outweigh all others.
    """
    if not state:
        return torch.ones_like(square)  # no step has used it so far, and so it has no gradient
    decay, steps = float(group["betas"][1]), float(state["step"]) + 1
    before: Tensor = state.get("max_exp_avg_sq", state["exp_avg_sq"])
    mean_square = before.float().mul(decay).add_(square, alpha=1 - decay).div_(1 - decay**steps)
    return mean_square.sqrt_().add_(group["eps"]).reciprocal_()


def _total(squares: Sequence[Tensor], factors: Sequence[Tensor] | None) -> float:
    weighed = squares if factors is None else [square * factor for square, factor in zip(squares, factors, strict=True)]
    return float(torch.stack([each.sum(dtype=torch.float64) for each in weighed]).sum())
