"""The user's own items as a run learns from them: by ticket, collated as the user does it."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from traindyno.core.records import Settings
from traindyno.worker.batches import to_device
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.datasets import as_it_is
from traindyno.worker.data.loading import Endless, make_loader
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.learning.gate import Gate
from traindyno.worker.learning.order import PlannedBatches, seed_of
from traindyno.worker.learning.splitting import Indices

Collate = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class OwnPart:
    """Some items of the user's dataset."""

    dataset: Any
    indices: Indices
    collate: Collate
    what: str
    others: dict[str, Any] = field(default_factory=dict)
    skip_bad: bool = False

    @property
    def examples(self) -> int:
        return len(self.indices)

    def among(self, places: Indices) -> "OwnPart":
        """Some of these items."""
        return replace(self, indices=self.indices[places])

    def loader(
        self, settings: Settings, seed: int, batches: PlannedBatches, skipped: SkippedExamples | None, gate: Gate
    ) -> Endless:
        items = TicketedItems(self.dataset, self.indices, self.collate, seed, gate)
        others = {name: value for name, value in self.others.items() if settings.num_workers or name != "timeout"}
        generator = torch.Generator().manual_seed(seed)
        return make_loader(items, settings, as_it_is, self.what, batches=batches, generator=generator, **others)

    @contextlib.contextmanager
    def placing(
        self, take: Callable[[], Any], settings: Settings, device: torch.device, waits: Stopwatch
    ) -> Iterator[Callable[[], Any]]:
        timed, non_blocking = waits.around(take), settings.pin_memory
        yield lambda: laid_out(to_device(timed(), device, non_blocking), settings)


class TicketedItems(Dataset[Any]):
    """Whole batches of the user's items, in which chance is the ticket's: the same batch is the same at any time.

    `worker_init_fn` may set attributes of the dataset, so they are handed on both ways.
    """

    def __init__(self, dataset: Any, indices: Indices, collate: Collate, seed: int, gate: Gate) -> None:
        self.__dict__.update(_dataset=dataset, _indices=indices, _collate=collate, _seed=seed, _gate=gate)

    def __getitems__(self, tickets: Sequence[int]) -> Any:
        own = self.__dict__
        dataset, indices, gate = own["_dataset"], own["_indices"], own["_gate"]
        chosen = [int(indices[ticket % len(indices)]) for ticket in tickets]
        gate.wait()
        with drawing_from(seed_of(own["_seed"], "items", tickets[0])):
            whole = getattr(dataset, "__getitems__", None)
            items = whole(chosen) if whole else [dataset[index] for index in gate.through(chosen)]
            return own["_collate"](items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_dataset"], name, value)


@contextlib.contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """What is drawn from Python's, numpy's and torch's own generators comes from the seed; then all is as before."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])
