"""Which kernels an optimiser steps with: one parameter at a time, all of a kind together, or everything fused."""

import torch

from traindyno.core.records import OptimizerKernel
from traindyno.worker.errors import DoesNotApplyError

_OPTION = {"loop": "foreach", "foreach": "foreach", "fused": "fused"}


def use_kernel(optimizer: torch.optim.Optimizer, kernel: OptimizerKernel) -> None:
    """Set the optimiser's own options before its first step; `auto` leaves torch or the user their choice.

    Torch's optimisers read these options in every step and make their state in the first, so this is the same as
    to build them so. `_step_supports_amp_scaling` tells the loss scaler that a fused step divides by the scale itself.
    """
    if kernel == "auto":
        return
    _check_takes(optimizer, kernel)
    for group in optimizer.param_groups:
        group["foreach"] = kernel == "foreach"
        if "fused" in group:
            group["fused"] = kernel == "fused"
    setattr(optimizer, "_step_supports_amp_scaling", kernel == "fused")  # noqa: B010 - no declared attribute


def _check_takes(optimizer: torch.optim.Optimizer, kernel: OptimizerKernel) -> None:
    name, option = type(optimizer).__name__, _OPTION[kernel]
    if any(option not in group for group in optimizer.param_groups):
        raise DoesNotApplyError(
            f"{name} has no option {option!r}, so its kernels cannot be chosen", "leave optimizer_kernel at auto"
        )
    if kernel == "fused" and optimizer.state:
        raise DoesNotApplyError(
            f"{name} has made its state before the first step, and fused kernels need another",
            f"give optimizer=lambda parameters: {name}(parameters, fused=True)",
        )
