"""Channels last: images and the weights of convolutions with their channels side by side in memory."""

from typing import Any

import torch
from torch import nn

from traindyno.core.records import Settings
from traindyno.worker.batches import map_leaves


def lay_out_model(model: nn.Module, settings: Settings) -> None:
    """Change the layout of weights with four dimensions; `Module.to` would stumble over those with five."""
    if settings.memory_format == "contiguous":
        return
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = _channels_last(tensor.data)


def laid_out(batch: Any, settings: Settings) -> Any:
    """The batch with its images in the layout asked for; what is so already is not copied."""
    if settings.memory_format == "contiguous":
        return batch
    return map_leaves(_channels_last, batch)


def has_images(model: nn.Module, batch: Any) -> bool:
    """Whether there is anything that this layout is about: an input or a weight with four dimensions."""
    found: list[bool] = []
    map_leaves(lambda leaf: found.append(_is_image(leaf)), batch)
    return any(found) or any(map(_is_image, (*model.parameters(), *model.buffers())))


def _channels_last(leaf: Any) -> Any:
    return leaf.contiguous(memory_format=torch.channels_last) if _is_image(leaf) else leaf


def _is_image(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dim() == 4 and leaf.is_floating_point()
