"""Which examples make up which batch, epoch after epoch without end."""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

import torch

from traindyno.core.errors import TraindynoError


class EndlessBatches:
    """The indices of whole batches, from one epoch straight into the next, until told to finish.

    So an epoch's edge, with what it costs, never falls between two readings of the clock. A part of a batch at the end
    of an epoch is left out. `finish` ends the epoch that runs; to iterate anew begins the next. `stop_at_epochs` makes
    every epoch end by itself, as those of a plain loader do.
    """

    def __init__(self, epoch: Callable[[int], Iterable[int]], batch_size: int) -> None:
        self._epoch = epoch
        self._batch_size = batch_size
        self._next_epoch = 0
        self._finished = False
        self._stops_at_epochs = False

    def __iter__(self) -> Iterator[list[int]]:
        self._finished = False
        while True:
            batches = 0
            for batch in self._whole_batches():
                if self._finished:
                    return
                yield batch
                batches += 1
            if batches == 0:
                raise TraindynoError(
                    f"an epoch ended before it gave one batch of {self._batch_size}",
                    "use a smaller batch, or let the sampler's __len__ tell the true number of examples",
                )
            if self._stops_at_epochs:
                return

    def finish(self) -> None:
        self._finished = True

    def stop_at_epochs(self) -> None:
        self._stops_at_epochs = True

    def _whole_batches(self) -> Iterator[list[int]]:
        indices = iter(self._epoch(self._next_epoch))
        self._next_epoch += 1
        while len(batch := list(itertools.islice(indices, self._batch_size))) == self._batch_size:
            yield batch


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed for one epoch. Those of seed 1 must not be those of seed 0, begun one epoch later."""
    return random.Random(f"{seed} {epoch}").getrandbits(63)


MOST_TICKETS, MOST_PASSES = 1 << 20, 1 << 12
"""Of the longest epoch that is dealt from a part of the examples: it is held in memory, and to deal it takes time."""


class Shuffled:
    """Tickets of `drawn` out of `examples` examples, in another order each time they are passed through.

    A ticket is the example's index plus `examples` for every pass before, so it tells a worker both: what to read, and
    with which randomness to augment it this time. Fewer examples than there are make a measurement whose data stays in
    the page cache; they are drawn at random too. An epoch passes through them again and again until it is as long as
    one through all: to deal an epoch takes time, and a short one would take it too often.
    """

    def __init__(self, examples: int, seed: int, drawn: int | None = None) -> None:
        self._examples = examples
        self._seed = seed
        self._drawn = torch.randperm(examples, generator=torch.Generator().manual_seed(seed))[:drawn]
        self._passes = min(MOST_PASSES, max(1, min(examples, MOST_TICKETS) // max(1, len(self._drawn))))

    @property
    def drawn(self) -> list[int]:
        chosen: list[int] = self._drawn.tolist()
        return chosen

    def __call__(self, epoch: int) -> list[int]:
        passes = range(epoch * self._passes, (epoch + 1) * self._passes)
        tickets: list[int] = torch.cat([self._passed_through(number) for number in passes]).tolist()
        return tickets

    def _passed_through(self, number: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(epoch_seed(self._seed, number))
        order = torch.randperm(len(self._drawn), generator=generator)
        return self._drawn[order] + number * self._examples
