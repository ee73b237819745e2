"""Which training examples make up which batch: shuffled epochs in one endless row, begun at any place."""

import functools
import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.worker.data.sampling import EndlessBatches, epoch_seed
from traindyno.worker.learning.processes import Processes


@dataclass(frozen=True)
class Run:
    """What batches depend on besides the data they are made of."""

    settings: Settings
    seed: int
    device: torch.device
    processes: Processes


@dataclass(frozen=True)
class Order:
    """The endless row of examples: one epoch behind the other, each in another order."""

    examples: int
    seed: int

    def epoch(self, number: int) -> Tensor:
        """The indices of all examples, in the order of one epoch."""
        return _shuffled(self.examples, epoch_seed(self.seed, number))

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """The epochs between two places of the row, each with the places within it: where to begin and to end."""
        while first < last:
            epoch, begin = divmod(first, self.examples)
            end = min(begin + last - first, self.examples)
            yield epoch, begin, end
            first += end - begin

    def tickets(self, first: int, last: int) -> list[int]:
        """What lies between two places of the row. A ticket is the index plus `examples` for every epoch before."""
        row = [self.epoch(epoch)[begin:end] + epoch * self.examples for epoch, begin, end in self.pieces(first, last)]
        tickets: list[int] = torch.cat(row).tolist()
        return tickets


class PlannedBatches(EndlessBatches):
    """Batches that are settled beforehand, whether they end or not; the last may be smaller."""

    def __init__(self, plan: Iterable[list[int]]) -> None:
        self._plan = plan

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self._plan)


def own_places(run: Run, first_step: int) -> Iterator[tuple[int, int]]:
    """Where in the row this process's share of each step's batch begins and ends, without end."""
    batch_size, share = run.settings.batch_size, run.processes.share_of(run.settings.batch_size)
    for first in itertools.count(first_step * batch_size + run.processes.rank * share, batch_size):
        yield first, first + share


def evaluation_places(examples: int, run: Run) -> list[tuple[int, int]]:
    """Where each batch of this process's share of the evaluation examples begins and ends.

    A batch is as large as what is computed at once in training, which is known to fit.
    """
    processes, settings = run.processes, run.settings
    at_once = max(1, processes.share_of(settings.batch_size) // settings.accumulation_steps)
    first, last = (examples * rank // processes.world_size for rank in (processes.rank, processes.rank + 1))
    return [(begin, min(begin + at_once, last)) for begin in range(first, last, at_once)]


def drawn(examples: int, seed: int, size: int, count: int, draw: int) -> Order:
    """The order that some micro-batches are taken from, another one for each draw."""
    if size * count > examples:
        raise UsageError(
            f"{count} micro-batches of {size} are {size * count:,} examples, and there are {examples:,} to train on",
            "give fewer with --micro-batches, or smaller ones with --micro-batch",
        )
    return Order(examples, seed_of(seed, "micro-batches", draw))


def drawn_places(order: Order, size: int, count: int) -> list[tuple[int, int]]:
    """Where micro-batches lie in that order: at the beginning of an epoch each, so that none depends on the others."""
    return [(number * order.examples, number * order.examples + size) for number in range(count)]


def seed_of(seed: int, what: str, number: int) -> int:
    """A seed for one thing that is left to chance, apart from the seeds of all others."""
    return random.Random(f"{seed} {what} {number}").getrandbits(63)


@functools.lru_cache(maxsize=2)
def _shuffled(examples: int, seed: int) -> Tensor:
    """Two are kept, for the batches across the edge between them."""
    return torch.randperm(examples, generator=torch.Generator().manual_seed(seed))
