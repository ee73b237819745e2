"""From stored examples to a finished batch on the host, one stage at a time.

Every stage is a method of its own, so that a probe times the very code that loader workers run.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from traindyno.core.loading import Decoder
from traindyno.core.records import Mode
from traindyno.worker.data.augment import augment
from traindyno.worker.data.bad import SkippedExamples, read_example, read_stream
from traindyno.worker.data.decoders import open_decoder
from traindyno.worker.data.sampling import epoch_seed
from traindyno.worker.data.stored import Examples, ExampleStream, Pixels, Stored

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Data = Examples | ExampleStream


class Batch(NamedTuple):
    """A batch on the host. `fill_seconds` is what the shuffle buffer took before a worker's first batch."""

    inputs: Any
    labels: Tensor
    fill_seconds: float | None = None


@dataclass(frozen=True)
class Pipeline:
    """All that a loader worker does: from bytes to uint8 images of one size, examples × height × width × 3."""

    data: Data
    size: int
    mode: Mode = "train"
    decoder: Decoder = "pil"
    seed: int = 0
    skipped: SkippedExamples | None = None

    def open(self) -> None:
        """Import the decoder now, so that not every forked worker does it for itself."""
        _ = self._decode

    def decode(self, stored: Stored) -> Any:
        """Encoded images become pixels; pixels are ready."""
        content = stored.content
        return self._decode(content) if isinstance(content, bytes) else content

    def augment(self, decoded: Any, rng: np.random.Generator) -> Any:
        """Crop, resize, flip: all examples become one size."""
        return augment(decoded, self.data.augmentation, self.size, self.mode, rng)

    def collate(self, made: Sequence[Any], labels: Sequence[int]) -> Batch:
        """In a worker, `default_collate` writes straight into the shared memory that the batch travels in."""
        images = default_collate([torch.from_numpy(pixels) for pixels in made])
        return Batch(images, torch.tensor(labels, dtype=torch.int64))

    def batch(self, tickets: Iterable[int]) -> Batch:
        """One batch of examples by index; what a ticket is, `Shuffled` tells."""
        with one_thread():
            made, labels = zip(*map(self._example, tickets), strict=True)
            return self.collate(made, labels)

    def batches(self, worker: int, workers: int, batch_size: int) -> Iterator[Batch]:
        """Batches of a worker's share of a stream, without end; a shuffle buffer is full before it gives anything."""
        assert is_stream(self.data)
        rng = np.random.default_rng((self.seed, worker))
        stream = self.stream(worker, workers)
        start = time.perf_counter()
        first = next(stream)
        fill_seconds = time.perf_counter() - start if self.data.buffer_examples else None
        examples = read_stream(itertools.chain([first], stream), self.decode, self.skipped)
        while True:
            with one_thread():
                made, labels = [], []
                for decoded, label in itertools.islice(examples, batch_size):
                    made.append(self.augment(decoded, rng))
                    labels.append(label)
                batch = self.collate(made, labels)
            yield batch._replace(fill_seconds=fill_seconds)
            fill_seconds = None

    def stream(self, worker: int, workers: int) -> Iterator[Stored]:
        """A worker's share of a stream, begun anew with another seed whenever it ends."""
        assert is_stream(self.data)
        for epoch in itertools.count():
            yield from self.data.stream(worker, workers, epoch_seed(self.seed, epoch))

    def _example(self, ticket: int) -> tuple[Any, int]:
        assert not is_stream(self.data)
        rng = self.random.at(ticket)
        return read_example(
            self.data, ticket % len(self.data), lambda stored: self.augment(self.decode(stored), rng), self.skipped
        )

    @cached_property
    def random(self) -> "TicketRandom":
        return TicketRandom(self.seed)

    @cached_property
    def _decode(self) -> Callable[[bytes], Pixels]:
        return open_decoder(self.decoder)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """As loader workers have it. In the main process, threads on such small work cost far more than they gain."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class TicketRandom:
    """Randomness for each ticket by itself, whichever worker holds it: the same ticket brings the same crop.

    A new generator would cost more than a crop from a memory map does, so one is set back for each ticket.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(key=seed)
        self._state: Any = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def at(self, ticket: int) -> np.random.Generator:
        """The generator at the ticket's own place; it holds until the next call."""
        self._state["state"]["counter"][-1] = ticket
        self._bits.state = self._state
        return self._generator


def is_stream(data: Data) -> "TypeIs[ExampleStream]":
    return hasattr(data, "stream")
