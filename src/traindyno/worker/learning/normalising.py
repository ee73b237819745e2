"""Batch normalisation over less than the batch, or over more: ghost groups, emulated devices, all processes.

A layer keeps its parameters, buffers and their names; only what it does in training changes. So weights fit a model
with or without this. Of k groups of one size the first has every kth example; groups that differ lie one after the
other. So all layers that see a batch group it alike.
"""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor, cat, nn, split, stack
from torch.nn.modules.batchnorm import _BatchNorm

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.worker.learning.group_statistics import in_one_call, is_plain, momentum_of_each
from traindyno.worker.learning.processes import Processes

LEAST_GROUP = 2


def normalise(model: nn.Module, recipe: Recipe, processes: Processes, examples: int, on_gpu: bool) -> int | None:
    """Let the model normalise as the recipe says; the examples that one normalisation sees, null where there is none.

    `examples` are those that the model is given at once in this process.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    _check_emulation(recipe, processes, examples)
    if not layers:
        return None
    if recipe.batch_norm == "sync":
        if not processes.alone:
            _synchronise(model, layers, on_gpu)
        return examples * processes.world_size
    per_device = examples // recipe.emulated_devices
    per_group = min(recipe.ghost_size, per_device) if recipe.batch_norm == "ghost" else per_device
    if per_group < examples:
        for layer in layers:
            _group(layer, recipe.emulated_devices, per_group)
    return per_group


def check_not_normalising(recipe: Recipe) -> None:
    """What is frozen normalises by its running statistics, whatever is said about batches."""
    if recipe.batch_norm != "own" or recipe.emulated_devices > 1:
        said = "--emulate-devices" if recipe.emulated_devices > 1 else f"--batch-norm {recipe.batch_norm}"
        raise UsageError(
            f"only the head is trained, and {said} would change nothing there",
            f"leave {said} away, or fine-tune all of the model",
        )


def group_sizes(examples: int, group_size: int) -> list[int]:
    """Groups in order, of which the last may be smaller, but never a single example: that joins the one before."""
    whole, rest = divmod(examples, group_size)
    sizes = [group_size] * whole + [rest] * (rest > 0)
    if len(sizes) > 1 and sizes[-1] < LEAST_GROUP <= group_size:
        sizes[-2:] = [sizes[-2] + sizes[-1]]
    return sizes


class _Grouped:
    """In training, normalises each group by its own statistics.

    Running statistics come from the first device's groups alone, as those of several processes do: they are copied from
    the first. Its groups together weigh as much as the whole batch would.
    """

    training: bool
    track_running_stats: bool
    momentum: float | None
    emulated_devices: int
    group_size: int

    def forward(self, input: Tensor, *arguments: Any) -> Tensor:
        if not self.training:
            return super().forward(input, *arguments)  # type: ignore[misc, no-any-return]
        _check_divisible(len(input), self.emulated_devices)
        sizes = group_sizes(len(input) // self.emulated_devices, self.group_size)
        _check_variance(input, min(sizes))
        count = len(sizes) * self.emulated_devices
        if count == 1:
            return super().forward(input, *arguments)  # type: ignore[misc, no-any-return]
        if len(set(sizes)) > 1:
            in_a_row = split(input, sizes * self.emulated_devices)
            return cat(self._one_by_one(in_a_row, len(sizes), arguments))
        if not arguments and is_plain(self) and input.is_contiguous():
            return in_one_call(self, input, count, len(sizes))
        apart = [input[number::count] for number in range(count)]
        return stack(self._one_by_one(apart, len(sizes), arguments), dim=1).flatten(0, 1)

    def _one_by_one(self, groups: Sequence[Tensor], of_the_first: int, arguments: tuple[Any, ...]) -> list[Tensor]:
        tracked, momentum = self.track_running_stats, self.momentum
        if momentum is not None:
            self.momentum = momentum_of_each(momentum, of_the_first)
        try:
            outputs = []
            for number, group in enumerate(groups):
                self.track_running_stats = tracked and number < of_the_first
                outputs.append(super().forward(group, *arguments))  # type: ignore[misc]
            return outputs
        finally:
            self.track_running_stats, self.momentum = tracked, momentum


def _group(layer: _BatchNorm, emulated_devices: int, group_size: int) -> None:
    kind = type(layer)
    layer.__class__ = type(kind.__name__, (_Grouped, kind), {"__module__": kind.__module__})
    layer.emulated_devices, layer.group_size = emulated_devices, group_size  # type: ignore[assignment]


def _synchronise(model: nn.Module, layers: list[_BatchNorm], on_gpu: bool) -> None:
    if not on_gpu:
        raise UsageError(
            "torch synchronises batch normalisation between GPUs only, and this runs on CPUs",
            "use --batch-norm own or ghost, or one process",
        )
    own = [type(layer).__name__ for layer in layers if type(layer).forward is not _BatchNorm.forward]
    if any(name != "SyncBatchNorm" for name in own):
        raise UsageError(
            f"the model's {own[0]} does more than normalise, and torch cannot synchronise it",
            "use --batch-norm own or ghost, or one process",
        )
    nn.SyncBatchNorm.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]


def _check_emulation(recipe: Recipe, processes: Processes, examples: int) -> None:
    devices = recipe.emulated_devices
    if devices > 1 and not processes.alone:
        raise UsageError(
            f"{devices} devices cannot be emulated by {processes.world_size} processes, each with a device of its own",
            "leave --emulate-devices away, or start one process",
        )
    _check_divisible(examples, devices)


def _check_divisible(examples: int, devices: int) -> None:
    if examples % devices:
        raise UsageError(
            f"{examples} examples cannot be shared equally by {devices} emulated devices",
            f"let the batch size, divided by accumulation_steps, be a multiple of {devices}",
        )


def _check_variance(input: Tensor, examples: int) -> None:
    if examples * math.prod(input.shape[2:]) == 1:
        raise UsageError(
            "batch normalisation is left with one example, which has no variance",
            "use a larger batch, larger ghost groups or fewer emulated devices",
        )
