"""How good a model is: loss and accuracy over all examples of the evaluation part."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.worker.devices import Device
from traindyno.worker.handing import split
from traindyno.worker.job import Job
from traindyno.worker.knobs.compiling import with_fresh_graphs
from traindyno.worker.knobs.explaining import explained
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.learning.processes import Processes
from traindyno.worker.losses import IGNORED_TARGET, Criterion, find_scores, hits, scalar
from traindyno.worker.steps import mixed


def evaluate(
    job: Job,
    model: nn.Module,
    batches: Iterable[Any],
    settings: Settings,
    device: Device,
    processes: Processes,
    progress: Callable[[], None],
) -> tuple[float, float | None]:
    """Loss and accuracy of the model, which must be in evaluation mode.

    Each batch counts by its examples; by its targets where their cross entropy is the loss, which leaves out those that
    are ignored. Labels are not smoothed, and sums stay on the device until the end. Accuracy is null where targets are
    no classes.
    """
    criterion = dataclasses.replace(job.criterion, label_smoothing=0.0)
    judge = mixed(lambda batch: _judged(job, model, criterion, batch), settings, device)
    sums = torch.zeros(4, dtype=torch.float64, device=device.torch_device)
    for batch in batches:
        placed = laid_out(batch, settings)
        step = explained(with_fresh_graphs(lambda: judge(placed), settings), settings)  # noqa: B023 - called at once
        with torch.inference_mode():
            sums += step()
        progress()
    loss, weight, right, asked = processes.total(sums).tolist()
    if not weight:
        raise UsageError(
            f"there are no examples to evaluate on, or all targets are {IGNORED_TARGET}, which is ignored",
            "hold out more of the data with --hold-out, or give targets to what is evaluated on",
        )
    return loss / weight, right / asked if asked else None


def _judged(job: Job, model: nn.Module, criterion: Criterion, batch: Any) -> Tensor:
    """The loss times its weight, the weight, the right answers, and the answers asked for.

    A batch without any target that counts has no mean to tell, and no weight.
    """
    output, found = job.predict(model, batch), None
    if job.training_step is not None:
        loss = scalar(output, "training_step")
    else:
        target = split(batch, job.signature)[1]
        loss, found = criterion(output, target), hits(find_scores(output), target)
    right, asked = found if found is not None else (loss.new_zeros(()), loss.new_zeros(()))
    if found is not None and criterion.averages_targets(output):
        weight = asked.double()
    else:
        weight = torch.full((), examples_in(batch), dtype=torch.float64, device=loss.device)
    weighted = torch.where(weight > 0, loss.detach().double().reshape(()) * weight, 0.0)
    return torch.stack([weighted, weight, right.double(), asked.double()])


def examples_in(batch: Any) -> int:
    """The length of the first tensor in a batch."""
    found = _first_length(batch)
    if found is None:
        raise UsageError(
            "a batch of the evaluation part contains no tensor with examples", "let the data give tensors in batches"
        )
    return found


def _first_length(part: Any) -> int | None:
    if isinstance(part, Tensor):
        return len(part) if part.dim() else None
    parts = part.values() if isinstance(part, Mapping) else part if isinstance(part, tuple | list) else ()
    return next((length for length in map(_first_length, parts) if length is not None), None)
