"""What a training step does to the weights: clear the gradients, compute them, apply them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from traindyno.core.records import Settings
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.knobs.kernels import use_kernel


@dataclass(frozen=True)
class Update:
    """The three calls of a plain loop, in this order; `backward` more than once where gradients are accumulated."""

    clear: Callable[[], None]
    backward: Callable[[torch.Tensor], None]
    apply: Callable[[], None]


def make_update(job: Job, settings: Settings, device: Device) -> Update:
    optimizer = job.make_optimizer(job.model.parameters())
    use_kernel(optimizer, settings.optimizer_kernel)
    if settings.precision != "fp16":
        return _plain(optimizer)
    return _scaled(optimizer, torch.amp.GradScaler(device.torch_device.type, init_scale=job.first_loss_scale))


def _plain(optimizer: torch.optim.Optimizer) -> Update:
    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: loss.backward(),  # type: ignore[no-untyped-call]
        apply=lambda: optimizer.step(),
    )


def _scaled(optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler) -> Update:
    """With the loss scaled, as half precision is trained."""

    def apply() -> None:
        scaler.step(optimizer)
        scaler.update()

    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: scaler.scale(loss).backward(),  # type: ignore[no-untyped-call]
        apply=apply,
    )
