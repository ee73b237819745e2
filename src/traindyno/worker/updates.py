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
    return _scaled(optimizer, device) if settings.precision == "fp16" else _plain(optimizer)


def _plain(optimizer: torch.optim.Optimizer) -> Update:
    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: loss.backward(),  # type: ignore[no-untyped-call]
        apply=lambda: optimizer.step(),
    )


def _scaled(optimizer: torch.optim.Optimizer, device: Device) -> Update:
    """With the loss scaled, as half precision is trained.

    The usual first scale is so large that the first updates overflow and are left out, with the time and the memory
    that the optimiser takes for them. Starting at 1, every step measured is a whole one.
    """
    scaler = torch.amp.GradScaler(device.torch_device.type, init_scale=1.0)

    def apply() -> None:
        scaler.step(optimizer)
        scaler.update()

    return Update(
        clear=lambda: optimizer.zero_grad(set_to_none=True),
        backward=lambda loss: scaler.scale(loss).backward(),  # type: ignore[no-untyped-call]
        apply=apply,
    )
