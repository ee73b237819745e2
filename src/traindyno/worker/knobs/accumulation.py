"""Gradient accumulation: one step's batch computed in equal parts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from traindyno.core.records import Settings
from traindyno.worker.batches import map_leaves
from traindyno.worker.errors import DoesNotApplyError


class Share(NamedTuple):
    """Which part of the batch a part is: the first of one, unless gradients are accumulated."""

    number: int = 0
    of: int = 1


WHOLE = Share()


def shares_of(settings: Settings) -> tuple[Share, ...]:
    return tuple(Share(number, settings.accumulation_steps) for number in range(settings.accumulation_steps))


def parts_of(batch: Any, settings: Settings) -> Sequence[Any]:
    """The parts in order, as views of the batch; the batch itself where there is only one."""
    parts = settings.accumulation_steps
    if parts == 1:
        return (batch,)
    examples = settings.batch_size // parts
    starts = range(0, settings.batch_size, examples)
    return [map_leaves(lambda leaf: _part(leaf, start, examples, settings.batch_size), batch) for start in starts]  # noqa: B023 - called at once


def _part(leaf: Any, start: int, examples: int, batch_size: int) -> Any:
    """Some examples of a tensor. Single values go to every part."""
    if isinstance(leaf, torch.Tensor) and leaf.dim() and len(leaf) == batch_size:
        return leaf.narrow(0, start, examples)
    if (
        leaf is None
        or isinstance(leaf, bool | int | float | str)
        or (isinstance(leaf, torch.Tensor) and not leaf.dim())
    ):
        return leaf
    what = f"a tensor of shape {tuple(leaf.shape)}" if isinstance(leaf, torch.Tensor) else f"a {type(leaf).__name__}"
    raise DoesNotApplyError(
        f"the batch of {batch_size} contains {what}, which cannot be split for gradient accumulation",
        "let every tensor of a batch have the examples as its first dimension, or leave accumulation_steps at 1",
    )
