"""Synthetic batches, made directly on the device that trains on them."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol

import torch

from traindyno.core.errors import UsageError
from traindyno.worker.errors import DataError, LargerThanDataError

DRAWN_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


class BatchSource(Protocol):
    """Where resident batches come from; `examples` is None if there are as many as one likes."""

    @property
    def examples(self) -> int | None: ...

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any: ...


@dataclass(frozen=True)
class ImageSource:
    """Random images and, if the number of classes is known, random classes."""

    shape: tuple[int, int, int]
    classes: int | None = None
    examples: None = None

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        generator = seeded(device, seed)
        images = torch.randn(batch_size, *self.shape, device=device, generator=generator)
        if self.classes is None:
            return images
        return images, torch.randint(self.classes, (batch_size,), device=device, generator=generator)


@dataclass(frozen=True)
class ExampleSource:
    """The user's one example, as often as the batch is large."""

    example: Any
    examples: None = None

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        generator = seeded(device, seed)
        return map_leaves(lambda leaf: _many(as_tensor(leaf), batch_size, device, generator), self.example)


@dataclass(frozen=True)
class FunctionSource:
    """The user's function from batch size to batch."""

    function: Callable[[int], Any]
    examples: None = None

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        return to_device(guarded("example_input", lambda: self.function(batch_size)), device)


def seeded(device: torch.device, seed: int) -> torch.Generator:
    return torch.Generator(device=device).manual_seed(seed)


def guarded(what: str, read: Callable[[], Any]) -> Any:
    """Run the user's data code; what it raises becomes the cause of a `DataError`."""
    try:
        return read()
    except StopIteration:
        raise
    except Exception as error:
        raise DataError(f"reading from the {what} failed") from error


def check_size(batch_size: int, examples: int, drop_last: bool = False) -> None:
    """A batch must be full: a part of one, or with `drop_last` none at all, measures something else."""
    if batch_size <= examples:
        return
    none_left = ", and drop_last=True leaves no batch at all" if drop_last else ""
    raise LargerThanDataError(
        f"a batch of {batch_size} is larger than the data, which has {examples} examples{none_left}",
        f"the largest batch possible is {examples}; use a smaller batch or more data",
        examples,
    )


def to_device(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    """Move every tensor of the batch, and every object that knows how to move itself.

    Some objects change themselves in that and return themselves, so copies of them are moved: the batch stays where it
    was, and can be moved again.
    """

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to(device, non_blocking=non_blocking)
        return copy.copy(leaf).to(device) if _moves_itself(leaf) else leaf

    return map_leaves(moved, batch)


def in_fresh_containers(batch: Any) -> Any:
    """The same tensors in containers of their own: who takes something out of them leaves the batch whole."""
    return map_leaves(lambda leaf: copy.copy(leaf) if _moves_itself(leaf) else leaf, batch)


def host_bytes(batch: Any) -> int:
    """The size of all tensors in a batch."""
    return sum(tensor.nbytes for tensor in tensors_in(batch))


def tensors_in(batch: Any) -> Iterator[torch.Tensor]:
    """All tensors of a batch, also those in objects of the user's own. What it holds twice comes once.

    What was seen is kept to the end, or something new could have the identity of what is gone.
    """
    left, seen = [batch], {}
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, torch.Tensor):
            yield part
        else:
            left.extend(_parts_of(part))


def own_copy(batch: Any, pinned: bool) -> Any:
    """The same in memory of this process alone, page-locked where that is wanted and a part knows how."""

    def copied(leaf: Any) -> Any:
        new = leaf.clone() if isinstance(leaf, torch.Tensor) else copy.deepcopy(leaf)
        return new.pin_memory() if pinned and hasattr(new, "pin_memory") else new

    return map_leaves(copied, batch)


def as_tensor(leaf: Any) -> torch.Tensor:
    """A tensor, array or number of an example as tensor; anything else is refused by its type."""
    if isinstance(leaf, torch.Tensor):
        return leaf.detach()
    if isinstance(leaf, bool | int | float | complex) or hasattr(leaf, "__array__"):
        return torch.as_tensor(leaf)
    raise UsageError(
        f"example_input contains a {type(leaf).__name__}, which cannot be repeated to a batch",
        "use tensors or numbers, or give example_input=lambda batch_size: ... that makes the whole batch",
    )


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply to every part of nested mappings, tuples and lists; what can move itself is one part."""
    if hasattr(value, "to"):
        return function(value)
    if isinstance(value, Mapping):
        return {key: map_leaves(function, item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_leaves(function, item) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(map_leaves(function, item) for item in value)
    return function(value)


def _moves_itself(leaf: Any) -> bool:
    return not isinstance(leaf, torch.Tensor) and callable(getattr(leaf, "to", None))


def _parts_of(value: Any) -> Iterable[Any]:
    """What a container or an object consists of; code has no parts that belong to a batch."""
    if isinstance(value, type | ModuleType | FunctionType):
        return ()
    if is_dataclass(value):
        return [getattr(value, each.name) for each in fields(value)]
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, tuple | list) else getattr(value, "__dict__", {}).values()


def _many(example: torch.Tensor, batch_size: int, device: torch.device, generator: torch.Generator) -> torch.Tensor:
    """Zeros would run faster than real data on some devices, hence fresh values where any will do."""
    shape = (batch_size, *example.shape)
    if example.dtype not in DRAWN_DTYPES or example.numel() == 0:
        return example.to(device).expand(shape).contiguous()
    low, high = example.min().item(), example.max().item()
    many = torch.empty(shape, dtype=example.dtype, device=device)
    if low == high == 0:
        return many.normal_(generator=generator)
    return many.fill_(low) if low == high else many.uniform_(low, high, generator=generator)
