"""Whether workers share a stream out: each of those that do not delivers every example."""

import hashlib
from typing import Any

import torch
from torch.utils.data import get_worker_info

from traindyno.worker.batches import tensors_in
from traindyno.worker.errors import NotSharedError

LOOKED_AT = 1 << 14
"""Numbers of each tensor of a batch, from all over it: many begin with the same padding."""


class Sharing:
    """Looks at the first batch of each worker, and at one more, until they have said it.

    Batches come from the workers in turn. Two that are equal are the same examples, unless all of the data are alike.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._seen: list[bytes] = []

    def begin(self) -> None:
        """The workers start anew."""
        self._seen.clear()

    def look_at(self, batch: Any) -> None:
        """Raise if the batches so far show that workers deliver the same."""
        if len(self._seen) > self._workers:
            return
        self._seen.append(_digest(batch))
        firsts, later = self._seen[: self._workers], self._seen[self._workers :]
        if later and len(set(firsts)) < len(firsts) and later[0] not in firsts:
            raise not_shared(self._workers)


def not_shared(workers: int) -> NotSharedError:
    """What a stream's user is told, and can do."""
    return NotSharedError(
        f"each of the {workers} workers delivers all examples of the stream, which is not shared out among them",
        "let its __iter__ take the share of torch.utils.data.get_worker_info(), or worker_init_fn divide it; "
        "as it is, use no more than one worker",
    )


def passes_over_all(items: int, examples: int | None) -> int | None:
    """In a worker that has come to the end of its stream: how many workers there are, if it was the whole of it."""
    info = get_worker_info()
    if info is None or examples is None or not 1 < info.num_workers <= examples <= items:
        return None
    return int(info.num_workers)


def _digest(batch: Any) -> bytes:
    """A batch without tensors, or with sparse or nested ones alone, is like all others: nothing can be told of it."""
    told = hashlib.blake2b(digest_size=16)
    for tensor in tensors_in(batch):
        if tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested:
            sample = tensor.detach().reshape(-1)[:: max(1, tensor.numel() // LOOKED_AT)]
            numbers = sample.cpu().resolve_conj().resolve_neg().contiguous()
            told.update(numbers.view(torch.uint8).numpy().tobytes())
    return told.digest()
