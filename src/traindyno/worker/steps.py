"""One step of training or inference, as a plain loop would write it."""

import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import Device
from traindyno.worker.job import Job

P = ParamSpec("P")
T = TypeVar("T")
Step = Callable[[], torch.Tensor | None]
_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class NonfiniteLossError(Exception):
    """The loss is NaN or infinite: what is being timed is no longer training."""


def make_step(job: Job, batch: Any, workload: WorkloadSpec, settings: Settings, device: Device) -> Step:
    """The step that the trial repeats. It never waits for the device, but for the loss scale's check in fp16."""
    if workload.mode == "infer":
        return make_evaluation_step(job, batch, settings, device)
    model = job.model.train()
    return _training_step(job, mixed(job.bound_loss(model, batch), settings, device), settings, device)


def make_fed_step(
    job: Job, next_batch: Callable[[], Any], workload: WorkloadSpec, settings: Settings, device: Device
) -> Step:
    """The same step on a fresh batch each time; to get the batch is part of the step."""
    if workload.mode == "infer":
        model = job.model.eval()
        predict = mixed(lambda batch: job.predict(model, batch), settings, device)
        return _evaluation_step(lambda: predict(next_batch()))
    model = job.model.train()
    loss = mixed(lambda batch: job.loss(model, batch), settings, device)
    return _training_step(job, lambda: loss(next_batch()), settings, device)


def _training_step(job: Job, compute_loss: Callable[[], torch.Tensor], settings: Settings, device: Device) -> Step:
    optimizer = job.make_optimizer(job.model.parameters())
    if settings.precision == "fp16":
        return _scaled_step(compute_loss, optimizer, device)
    return _step(compute_loss, optimizer)


def _step(compute_loss: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer) -> Step:
    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = compute_loss()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    return step


def _scaled_step(compute_loss: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer, device: Device) -> Step:
    """With the loss scaled, as half precision is trained.

    The usual first scale is so large that the first updates overflow and are left out, with the time and the memory
    that the optimiser takes for them. Starting at 1, every step measured is a whole one.
    """
    scaler = torch.amp.GradScaler(device.torch_device.type, init_scale=1.0)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = compute_loss()
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def make_evaluation_step(job: Job, batch: Any, settings: Settings, device: Device) -> Step:
    """A forward pass as in evaluation: no gradients, batch-norm and dropout in inference mode."""
    model = job.model.eval()
    return _evaluation_step(mixed(lambda: job.predict(model, batch), settings, device))


def _evaluation_step(predict: Callable[[], Any]) -> Step:
    def step() -> None:
        with torch.inference_mode():
            predict()

    return step


def mixed(compute: Callable[P, T], settings: Settings, device: Device) -> Callable[P, T]:
    """The same computation in the precision that the settings ask for; fp32 is left as it is."""
    dtype = _AUTOCAST.get(settings.precision)
    if dtype is None:
        return compute
    kind = device.torch_device.type

    def computed(*arguments: P.args, **keywords: P.kwargs) -> T:
        with torch.autocast(kind, dtype=dtype):
            return compute(*arguments, **keywords)

    return computed


def finite_loss(loss: torch.Tensor | None) -> float | None:
    """The loss as a number. Reading it waits for the device, so call this at block edges only."""
    if loss is None:
        return None
    value = float(loss.detach().float().mean())
    if not math.isfinite(value):
        raise NonfiniteLossError(f"the loss is {value}")
    return value
