"""What a trial takes its batches from: the loader, or finished batches in host memory."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import torch

from traindyno.analysis.flow_pace import pace_of
from traindyno.core.records import Settings, TrialSpec
from traindyno.worker.batches import BatchSource, host_bytes, own_copy
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loadable import Loadable
from traindyno.worker.data.warmth import Warmth
from traindyno.worker.errors import LargerThanDataError

DIFFERENT_BATCHES = 8
# Processors have caches of tens of megabytes, some of more than a hundred.
LEAST_CACHED_BYTES = 1 << 28
MOST_CACHED_BYTES = 1 << 30
MOST_COPIES = 2048


class LoaderSupply:
    """Batches from the loader. Of cold data every example is read once; then the page cache is emptied anew.

    `warmth` tells of all passes so far.
    """

    def __init__(
        self, source: Loadable, spec: TrialSpec, skipped: SkippedExamples | None, alive: Callable[[], None]
    ) -> None:
        self._source, self._spec, self._skipped = source, spec, skipped
        cold = spec.feed.cold
        self._batches_in_pass = _batches_in_pass(source, spec.settings) if cold else math.inf
        self.warmth = source.cold() if cold else source.warm(spec.settings, spec.seed, skipped, alive)
        self._taken = 0
        self.flow = self._open()

    def start(self) -> tuple[float, Any]:
        """Seconds from asking for the first batch to having it, and the batch."""
        self._taken = 1
        return self.flow.start()

    def take(self) -> Any:
        self._taken += 1
        return self.flow.take()

    def ready(self) -> int | None:
        """How many batches are finished and not yet taken. Of cold data that says nothing: what was read ahead of the
        clock is what must not count.
        """
        return None if self._spec.feed.cold else self.flow.ready()

    def left(self) -> float:
        """How many batches there are before the data must be made cold again."""
        return self._batches_in_pass - self._taken

    def renew(self) -> None:
        """Begin another cold pass."""
        self.flow.close()
        self.warmth = _of_all_passes(self.warmth, self._source.cold())
        self.flow = self._open()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.flow.__exit__(kind, error, trace)

    def _open(self) -> Flow:
        spec = self._spec
        return Flow(self._source.endless(spec.settings, spec.seed, self._skipped, spec.feed.depth, self.warmth.drawn))


class CachedSupply:
    """Finished batches in host memory, in turn; pinned if the loader would pin them."""

    def __init__(self, batches: Sequence[Any]) -> None:
        self.take: Callable[[], Any] = itertools.cycle(batches).__next__

    def left(self) -> float:
        return math.inf

    def renew(self) -> None:
        raise AssertionError("cached batches do not run out")


class MadeUpSupply:
    """Synthetic batches, each made in host memory when it is taken: what is fed where there is nothing to load."""

    def __init__(self, source: BatchSource, spec: TrialSpec) -> None:
        self._source, self._size = source, spec.settings.batch_size
        self._seeds = itertools.count(spec.seed)

    def start(self) -> tuple[float, Any]:
        return 0.0, self.take()

    def take(self) -> Any:
        return self._source.batch(self._size, torch.device("cpu"), next(self._seeds))


def host_batches(
    source: BatchSource, spec: TrialSpec, skipped: SkippedExamples | None, alive: Callable[[], None]
) -> list[Any]:
    """Finished batches in host memory, by a loader that is closed again, or made up there; pinned as it would."""
    pinned = spec.settings.pin_memory and torch.cuda.is_available()
    if not isinstance(source, Loadable):
        return cached_batches(MadeUpSupply(source, spec), pinned)
    with LoaderSupply(source, spec, skipped, alive) as supply:
        return cached_batches(supply, pinned)


def cached_batches(supply: LoaderSupply | MadeUpSupply, pinned: bool) -> list[Any]:
    """A few batches, and copies of them until none can still be in the processor's cache when its turn comes.

    All are memory of this process: the shared memory of a loader may have no room for them. Batches in which no tensor
    is found may be of any size, so there are no copies of them.
    """
    first = own_copy(supply.start()[1], pinned)
    found = host_bytes(first)
    size = max(1, found)
    different = max(2, min(DIFFERENT_BATCHES, MOST_CACHED_BYTES // size))
    batches = [first, *(own_copy(supply.take(), pinned) for _ in range(different - 1))]
    copies = min(MOST_COPIES, -(-LEAST_CACHED_BYTES // size) - different) if found else 0
    return [*batches, *(own_copy(batches[number % different], pinned) for number in range(copies))]


def _of_all_passes(before: Warmth, another: Warmth) -> Warmth:
    """The most that any pass found in the page cache, unknown where one could not tell; and what each had to say."""
    shares = (before.cached_share, another.cached_share)
    known = [share for share in shares if share is not None]
    notes = tuple(dict.fromkeys((*before.notes, *another.notes)))
    return replace(before, cached_share=max(known) if len(known) == len(shares) else None, notes=notes)


def _batches_in_pass(source: Loadable, settings: Settings) -> int:
    """How many batches can be taken while a pass is read: near its end, workers already read the next.

    The clock must find something left after the batches that are discarded, or it would time what was ready before.
    """
    ahead, pace = settings.num_workers * settings.prefetch_factor, pace_of(settings)
    examples, buffered = source.examples, source.buffered_examples(settings.num_workers)
    in_pass = (examples - buffered) // settings.batch_size - ahead
    least = 1 + pace.discarded + pace.turn
    if in_pass < least:
        needed = (least + ahead) * settings.batch_size + buffered
        raise LargerThanDataError(
            f"a cold run with {settings.num_workers} workers and batches of {settings.batch_size} needs {needed:,} "
            f"examples, and the data has {examples:,}: the workers would have read it before the clock starts",
            "use fewer workers, a smaller batch or more data, or leave the cold run out (--no-cold)",
            examples,
        )
    return in_pass
