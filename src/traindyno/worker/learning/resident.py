"""Learning from pictures that all lie on the device: what a batch costs there is a few small kernels."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.stored import Examples
from traindyno.worker.learning.order import Order, Run, drawn, drawn_places, evaluation_places, own_places, seed_of
from traindyno.worker.learning.pictures import (
    Batch,
    Pictures,
    StillPictures,
    StoredPictures,
    changing,
    held_bytes,
    still,
    stored_pictures,
)

# A rule that asks for free memory would let the same trial run in two ways.
MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class ResidentData:
    """Both parts of the data on the device. Order and windows are drawn on the host: every device gets the same."""

    pictures: Pictures
    evaluated: StillPictures
    run: Run
    classes: int | None
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def training_examples(self) -> int:
        return len(self.pictures.labels)

    @property
    def evaluation_examples(self) -> int:
        return len(self.evaluated.labels)

    @contextlib.contextmanager
    def training(self, first_step: int) -> Iterator[Callable[[], Batch]]:
        row = _Row(Order(self.training_examples, self.run.seed), self.pictures, self.run.device)
        places = own_places(self.run, first_step)
        yield lambda: row.batch(*next(places))

    def supplying(self) -> AbstractContextManager[None]:
        """Nothing is made beforehand."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[Iterator[Batch]]:
        indices = torch.arange(self.evaluation_examples, device=self.run.device)
        places = evaluation_places(self.evaluation_examples, self.run)
        yield (self.evaluated.batch(indices[first:last], indices) for first, last in places)

    def micro_batches(self, size: int, count: int, draw: int) -> list[Batch]:
        order = drawn(self.training_examples, self.run.seed, size, count, draw)
        row = _Row(order, self.pictures, self.run.device)
        return [row.batch(*places) for places in drawn_places(order, size, count)]


def held_on_device(training: Examples, evaluation: Examples, size: int, run: Run) -> ResidentData | None:
    """The data on the device, if all of it is pixels of one size that need no scaling, in at most 1 GiB.

    A bad example is left to the loader, which names it or leaves it out.
    """
    try:
        stored = _stored(training, evaluation, size)
    except BadExampleError:
        return None
    if stored is None:
        return None
    channels_last = run.settings.memory_format == "channels_last"
    return ResidentData(
        pictures=changing(stored[0], size, channels_last, run.device),
        evaluated=still(stored[1], size, channels_last, run.device),
        run=run,
        classes=training.classes,
    )


def _stored(training: Examples, evaluation: Examples, size: int) -> tuple[StoredPictures, StoredPictures] | None:
    trained_bytes = held_bytes(training, size, changing=True)
    evaluated_bytes = held_bytes(evaluation, size, changing=False)
    if trained_bytes is None or evaluated_bytes is None or trained_bytes + evaluated_bytes > MOST_BYTES:
        return None
    trained, evaluated = stored_pictures(training), stored_pictures(evaluation)
    return None if trained is None or evaluated is None else (trained, evaluated)


class _Row:
    """The endless row of pictures; what an epoch leaves to chance is drawn at once and laid on the device."""

    def __init__(self, order: Order, pictures: Pictures, device: torch.device) -> None:
        self._order, self._pictures, self._device = order, pictures, device
        self._number = -1
        self._indices = self._windows = torch.empty(0)

    def batch(self, first: int, last: int) -> Batch:
        pieces = [self._piece(*piece) for piece in self._order.pieces(first, last)]
        if len(pieces) == 1:
            return self._pictures.batch(*pieces[0])
        indices, windows = zip(*pieces, strict=True)
        return self._pictures.batch(torch.cat(indices), torch.cat(windows))

    def _piece(self, epoch: int, begin: int, end: int) -> tuple[Tensor, Tensor]:
        if epoch != self._number:
            self._draw(epoch)
        return self._indices[begin:end], self._windows[begin:end]

    def _draw(self, epoch: int) -> None:
        order = self._order
        generator = torch.Generator().manual_seed(seed_of(order.seed, "windows", epoch))
        self._indices = order.epoch(epoch).to(self._device)
        self._windows = self._pictures.windows(order.examples, generator).to(self._device)
        self._number = epoch
