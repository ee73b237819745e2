"""What one step computes and moves, counted operation by operation as torch dispatches them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from traindyno.core.anatomy import Work
from traindyno.core.records import Settings
from traindyno.worker.anatomy.extras import first_line
from traindyno.worker.steps import Step

FUSED = "operations fused by the compiler read and write less than each of them alone; how much is not known"
NO_FORMULA = "torch has no formula for any operation of the step"

# These look at the shape of their arguments alone; the first two do not even fill what they return.
_MADE_UNFILLED = ("empty", "new_empty")
_READ_SHAPES_ALONE = ("zeros", "ones", "full", "rand", "new_")
_WRITE_ALONE = ("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "_foreach_zero_", "_foreach_copy_")


class MovedBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what each operation reads and writes, once for each tensor. A view moves nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.bytes += moved_bytes(func, args, kwargs or {}, result)
        return result


def moved_bytes(operation: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> int:
    """What one call read and wrote. Changed in place counts as read and written."""
    name = operation.__name__.split(".")[0]
    changed = _tensors(_changed(operation, arguments, keywords))
    given = _tensors((arguments, keywords))
    known = {_storage(tensor) for tensor in given}
    fresh = [tensor for tensor in _tensors(result) if _storage(tensor) not in known]
    if not (changed or fresh) or name.startswith(_MADE_UNFILLED):
        return 0
    read = given
    if name.startswith(_READ_SHAPES_ALONE):
        read = []
    elif name in _WRITE_ALONE:
        written = {id(tensor) for tensor in changed}
        read = [tensor for tensor in given if id(tensor) not in written]
    return sum(map(_bytes, [*read, *changed, *fresh]))


def _changed(operation: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """The arguments that the operation's schema says it writes to."""
    schema = operation._schema.arguments
    named = {**dict(zip((each.name for each in schema), arguments, strict=False)), **keywords}
    written = [each.name for each in schema if each.alias_info is not None and each.alias_info.is_write]
    return [named[name] for name in written if name in named]


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _bytes(tensor: torch.Tensor) -> int:
    """What is there to read: along an expanded dimension every element is the same one."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.element_size() * math.prod(size for size, stride in sizes if stride)


def count_work(step: Step, settings: Settings) -> Work:
    """Run one step, uncompiled, and count; what activation checkpointing computes again counts again.

    A user's step that cannot be followed is not counted, with the reason.
    """
    own_formulas = {torch.ops.aten.convolution_backward: _convolution_backward}
    flops, moved = FlopCounterMode(display=False, custom_mapping=own_formulas), MovedBytes()
    try:
        # Compiled code is one piece; what it was compiled from can be counted.
        with torch.compiler.set_stance("force_eager"), _slow_attention(), flops, moved:
            step()
    except Exception as error:  # noqa: BLE001 - the step is the user's and may raise anything; the reason is told
        return Work(uncounted_because=f"torch's counter could not follow the step: {first_line(error)}")
    counted = float(flops.get_total_flops()) or None
    fused = settings.compile != "none"
    return Work(
        flops_per_step=counted,
        bytes_per_step=None if fused else float(moved.bytes),
        uncounted_because=FUSED if fused else NO_FORMULA if counted is None else None,
    )


def _convolution_backward(gradient_shape: Any, input_shape: Any, weight_shape: Any, *others: Any, **named: Any) -> int:
    """Each gradient that is asked for is as many products as the convolution itself.

    torch's own formula has no groups: the weights' gradient of a depthwise convolution is taken for a whole one's.
    """
    *_, transposed, _output_padding, _groups, asked_for = others
    once = conv_flop_count(input_shape, weight_shape, gradient_shape, transposed=transposed)
    return int(once * sum(map(bool, asked_for[:2])))


@contextmanager
def _slow_attention() -> Iterator[None]:
    """In inference torch has attention in one operation, for which there is no formula; its parts have some."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
