"""Activation checkpointing: the inside of each block is computed again in the backward pass instead of kept."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from traindyno.worker.errors import DoesNotApplyError

TWICE = "activation checkpointing runs batch normalisation twice a step, and so updates its running statistics twice"


def checkpoint_activations(model: nn.Module) -> list[str]:
    """Make checkpoints of the model's blocks; what a reader of the measurement should know about it."""
    blocks = list(dict.fromkeys(_blocks(model)))
    if not blocks:
        raise DoesNotApplyError(
            "the model has no row of blocks (nn.Sequential or nn.ModuleList) to make activation checkpoints of",
            "leave activation_checkpointing off, or call torch.utils.checkpoint in the model's own forward",
        )
    for block in blocks:
        _checkpoint(block)
    normalised = any(isinstance(module, _BatchNorm) for block in blocks for module in block.modules())
    return [TWICE] if normalised else []


def _blocks(module: nn.Module) -> Iterator[nn.Module]:
    """The members of the outermost rows. A member that works in place would be given its own result again."""
    if isinstance(module, nn.Sequential | nn.ModuleList) and len(module) >= 2:
        for member in module:
            if isinstance(member, nn.ModuleList | nn.ModuleDict):
                yield from _blocks(member)
            elif not getattr(member, "inplace", False):
                yield member
        return
    for child in module.children():
        yield from _blocks(child)


def _checkpoint(block: nn.Module) -> None:
    forward = block.forward

    def checkpointed(*arguments: Any, **keywords: Any) -> Any:
        if block.training and torch.is_grad_enabled():
            return checkpoint(forward, *arguments, use_reentrant=False, **keywords)
        return forward(*arguments, **keywords)

    block.forward = checkpointed
