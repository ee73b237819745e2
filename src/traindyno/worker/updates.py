"""What a training step does to the weights: clear the gradients, compute them, apply them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from traindyno.core.records import Settings
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.knobs.kernels import use_kernel

USUAL_LOSS_SCALE = 2.0**16


@dataclass(frozen=True)
class Update:
    """The three calls of a plain loop, in this order; `backward` more than once where gradients are accumulated.

    `scaler` is that of the loss in fp16.
    """

    clear: Callable[[], None]
    backward: Callable[[torch.Tensor], None]
    apply: Callable[[], None]
    scaler: torch.amp.GradScaler | None = None


def make_update(job: Job, settings: Settings, device: Device) -> Update:
    return update_with(job.make_optimizer(job.model.parameters()), settings, device, job.first_loss_scale)


def update_with(
    optimizer: torch.optim.Optimizer,
    settings: Settings,
    device: Device,
    first_loss_scale: float,
    clip_norm: float | None = None,
) -> Update:
    """The calls with an optimiser that exists. Gradients together longer than `clip_norm` are made that long."""
    use_kernel(optimizer, settings.optimizer_kernel)
    if settings.precision != "fp16":
        return _plain(optimizer, clip_norm)
    scaler = torch.amp.GradScaler(device.torch_device.type, init_scale=first_loss_scale)
    return _scaled(optimizer, scaler, clip_norm)


def _plain(optimizer: torch.optim.Optimizer, clip_norm: float | None) -> Update:
    def clipped() -> None:
        assert clip_norm is not None, "without a length nothing is clipped"
        _clip(optimizer, clip_norm)
        optimizer.step()

    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: loss.backward(),  # type: ignore[no-untyped-call]
        apply=(lambda: optimizer.step()) if clip_norm is None else clipped,
    )


def _scaled(optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler, clip_norm: float | None) -> Update:
    """With the loss scaled, as half precision is trained; gradients are clipped by their length without the scale."""

    def apply() -> None:
        if clip_norm is not None:
            scaler.unscale_(optimizer)
            _clip(optimizer, clip_norm)
        scaler.step(optimizer)
        scaler.update()

    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: scaler.scale(loss).backward(),  # type: ignore[no-untyped-call]
        apply=apply,
        scaler=scaler,
    )


def _clip(optimizer: torch.optim.Optimizer, norm: float) -> None:
    torch.nn.utils.clip_grad_norm_((each for group in optimizer.param_groups for each in group["params"]), norm)
