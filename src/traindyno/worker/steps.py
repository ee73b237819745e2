"""One step of training or inference, as a plain loop would write it."""

import math
from collections.abc import Callable
from typing import Any

import torch

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import Device
from traindyno.worker.job import Job

Step = Callable[[], torch.Tensor | None]
_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class NonfiniteLossError(Exception):
    """The loss is NaN or infinite: what is being timed is no longer training."""


def autocast(settings: Settings, device: Device) -> torch.autocast:
    """Mixed precision as the settings ask; switched off for fp32."""
    dtype = _AUTOCAST.get(settings.precision)
    return torch.autocast(device.torch_device.type, dtype=dtype, enabled=dtype is not None)


def make_step(job: Job, batch: Any, workload: WorkloadSpec, settings: Settings, device: Device) -> Step:
    """The step that the trial repeats. It never waits for the device."""
    if workload.mode == "infer":
        return make_evaluation_step(job, batch, settings, device)
    return _train_step(job, batch, settings, device)


def _train_step(job: Job, batch: Any, settings: Settings, device: Device) -> Step:
    model = job.model.train()
    optimizer = job.make_optimizer(model.parameters())
    scaler = torch.amp.GradScaler(device.torch_device.type, enabled=settings.precision == "fp16")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with autocast(settings, device):
            loss = job.loss(model, batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


def make_evaluation_step(job: Job, batch: Any, settings: Settings, device: Device) -> Step:
    """A forward pass as in evaluation: no gradients, batch-norm and dropout in inference mode."""
    model = job.model

    def step() -> None:
        model.eval()
        with torch.inference_mode(), autocast(settings, device):
            job.predict(model, batch)

    return step


def finite_loss(loss: torch.Tensor | None) -> float | None:
    """The loss as a number. Reading it waits for the device, so call this at block edges only."""
    if loss is None:
        return None
    value = float(loss.float().mean())
    if not math.isfinite(value):
        raise NonfiniteLossError(f"the loss is {value}")
    return value
