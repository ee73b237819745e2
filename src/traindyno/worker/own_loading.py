"""Loading from the user's own dataset or loader, as far as their inside is known: items, and how they are collated."""

import abc
import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils.data import IterableDataset

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.loading import Depth
from traindyno.core.records import Settings
from traindyno.worker.batches import check_size, guarded, to_device
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import bytes_from_disk
from traindyno.worker.data.loading import Endless, make_loader
from traindyno.worker.data.sampling import EndlessBatches
from traindyno.worker.data.sharing import Sharing, not_shared, passes_over_all
from traindyno.worker.data.staged import Clock, Laps, Stages
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.warmth import Alive, Warmth, make_cold

Epoch = Callable[[int], Iterable[int]]

KEPT_TIMES, KEPT_SECONDS = 2.0, 0.001
"""A batch that comes out of the page cache twice takes about as long both times."""


@dataclass(frozen=True)
class OwnParts:
    """What a loader over the user's data is built of. A stream has no `epoch` of indices."""

    dataset: Any
    collate: Callable[[Any], Any]
    what: str
    epoch: Epoch | None = None
    examples: int | None = None
    others: dict[str, Any] = field(default_factory=dict)

    def endless(self, settings: Settings) -> Endless:
        others = {name: value for name, value in self.others.items() if settings.num_workers or name != "timeout"}
        if self.epoch is None:
            stream, size = EndlessStream(self.dataset, self.examples), settings.batch_size
            endless = make_loader(stream, settings, self.collate, self.what, batch_size=size, **others)
            return replace(endless, sharing=Sharing(settings.num_workers)) if settings.num_workers > 1 else endless
        batches = EndlessBatches(self.epoch, settings.batch_size)
        return make_loader(self.dataset, settings, self.collate, self.what, batches=batches, **others)


class OwnLoading(abc.ABC):
    """How a trial loads from the user's data; what the data consists of, `parts` tells."""

    examples: int

    @property
    def notes(self) -> list[str]:
        return []

    @property
    def most_workers(self) -> int | None:
        """How the user's data is shared out is not known."""
        return None

    @property
    def same_from_workers(self) -> bool:
        """What the user's code draws depends on the process it runs in."""
        return False

    def buffered_examples(self, workers: int) -> int:
        """None that are known of."""
        return 0

    @abc.abstractmethod
    def parts(self, seed: int) -> OwnParts:
        """The user's dataset, or the parts of the user's loader."""

    def endless(
        self, settings: Settings, seed: int, skipped: SkippedExamples | None, depth: Depth, drawn: int | None
    ) -> Endless:
        if depth != "examples":
            raise UsageError(f"your own dataset cannot stop at {depth}", "its items are one piece; leave that run out")
        check_size(settings.batch_size, self.examples)
        return self.parts(seed).endless(settings)

    def staged(self, settings: Settings, seed: int, skipped: SkippedExamples | None) -> "OwnStaged":
        check_size(settings.batch_size, self.examples)
        return OwnStaged(self.parts(seed), settings.batch_size)

    @contextlib.contextmanager
    def placing(
        self, take: Callable[[], Any], settings: Settings, device: torch.device, waits: Stopwatch
    ) -> Iterator[Callable[[], Any]]:
        timed, non_blocking = waits.around(take), settings.pin_memory
        yield lambda: to_device(timed(), device, non_blocking)

    def warm(self, settings: Settings, seed: int, skipped: SkippedExamples | None, alive: Alive) -> Warmth:
        """Which files the user's code reads is not known."""
        return Warmth()

    def cold(self) -> Warmth:
        return make_cold(())


class EndlessStream(IterableDataset[Any]):
    """The user's stream begun anew whenever it ends. All else about it is the user's own.

    `worker_init_fn` may divide the work by setting attributes of the dataset, so they are handed on both ways.
    """

    def __init__(self, dataset: Any, examples: int | None = None) -> None:
        self.__dict__["_dataset"], self.__dict__["_examples"] = dataset, examples

    def __iter__(self) -> Iterator[Any]:
        while True:
            items = 0
            for item in self._dataset:
                items += 1
                yield item
            if (workers := passes_over_all(items, self._examples)) is not None:
                raise not_shared(workers)
            if not items:
                raise TraindynoError("the stream is empty", "check the path and the filters that make up the data")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._dataset, name, value)


class OwnStaged:
    """Batches of the user's data in this process: items in one stage, since their inside is not known.

    Data that keep what they have read are not read ahead of the clock: it would find what a worker has to read.
    """

    def __init__(self, parts: OwnParts, batch_size: int) -> None:
        self._parts, self._batch_size = parts, batch_size
        self._stream = iter(EndlessStream(parts.dataset)) if parts.epoch is None else iter(())
        self._batches = iter(EndlessBatches(parts.epoch, batch_size)) if parts.epoch is not None else iter(())
        self._indices: list[int] = next(self._batches, [])
        self._first_seconds: float | None = None
        self._keeps = False

    def touch(self, alive: Alive) -> None:
        if not self._indices or self._keeps:
            return
        before, began = bytes_from_disk(), time.perf_counter()
        self._items()
        seconds, after = time.perf_counter() - began, bytes_from_disk()
        self._first_seconds = seconds if before is not None and before == after else None

    def make(self, clock: Clock) -> tuple[Stages, Any]:
        laps, began = Laps(clock), time.perf_counter()
        laps.start()
        items = self._items()
        laps.lap("example")
        self._keeps = self._keeps or _is_kept(self._first_seconds, time.perf_counter() - began)
        self._first_seconds = None
        batch = guarded(self._parts.what, lambda: self._parts.collate(items))
        laps.lap("collate")
        self._indices = next(self._batches, [])
        return laps.stages(), batch

    def _items(self) -> Any:
        """The next batch's items, from indices or the stream."""
        return guarded(self._parts.what, self._read)

    def _read(self) -> Any:
        dataset = self._parts.dataset
        if not self._indices:
            return list(itertools.islice(self._stream, self._batch_size))
        whole_batches = getattr(dataset, "__getitems__", None)
        return whole_batches(self._indices) if whole_batches else [dataset[index] for index in self._indices]


def _is_kept(first_seconds: float | None, again_seconds: float) -> bool:
    """Whether items came so much faster the second time, though nothing came from disk before, that they were kept."""
    if first_seconds is None:
        return False
    return first_seconds > KEPT_TIMES * again_seconds and first_seconds - again_seconds > KEPT_SECONDS
