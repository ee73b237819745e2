"""One batch for every step: a training step of the user's own may use up what it is given, as a loop lets it."""

from collections.abc import Callable, Iterator
from typing import Any

from traindyno.worker.batches import in_fresh_containers, own_copy, tensors_in

CHANGES_BATCH = (
    "the training step changes the tensors of its batch, so each step was given a copy of them, which is part of its "
    "time and memory"
)


def handed_again(batch: Any, tell_changed: Callable[[], None]) -> Iterator[Any]:
    """The same batch for each step, in containers of its own; its tensors as copies, if the first step changed them.

    Whether it did is looked at when a second step asks: a batch that is used once may be changed.
    """
    before = _versions(batch)
    yield in_fresh_containers(batch)
    changed = _versions(batch) != before
    if changed:
        tell_changed()
    while True:
        yield own_copy(batch, pinned=False) if changed else in_fresh_containers(batch)


def _versions(batch: Any) -> list[int]:
    """How often each tensor was changed in place; those made for inference alone do not count that."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors_in(batch)]
