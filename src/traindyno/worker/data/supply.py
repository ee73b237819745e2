"""What a trial takes its batches from: the loader, or finished batches in host memory."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from traindyno.core.records import TrialSpec
from traindyno.worker.batches import host_bytes
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loadable import Loadable

CACHED_BATCHES = 8
CACHED_BYTES = 1 << 30


class LoaderSupply:
    """Batches from the loader. Of cold data every example is read once; then the page cache is emptied anew."""

    def __init__(
        self, source: Loadable, spec: TrialSpec, skipped: SkippedExamples | None, alive: Callable[[], None]
    ) -> None:
        self._source, self._spec, self._skipped = source, spec, skipped
        cold = spec.feed.cold
        self.warmth = source.cold() if cold else source.warm(spec.settings, spec.seed, skipped, alive)
        self.batches_in_pass = _batches_in_pass(source.examples, spec) if cold else math.inf
        self._taken = 0
        self.flow = self._open()

    def start(self) -> tuple[float, Any]:
        """Seconds from asking for the first batch to having it, and the batch."""
        self._taken = 1
        return self.flow.start()

    def take(self) -> Any:
        self._taken += 1
        return self.flow.take()

    def left(self) -> float:
        """How many batches there are before the data must be made cold again."""
        return self.batches_in_pass - self._taken

    def renew(self) -> None:
        """Begin another cold pass."""
        self.flow.close()
        self._source.cold()
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
    """A handful of finished batches in host memory, in turn; pinned if the loader would pin them."""

    def __init__(self, batches: Sequence[Any]) -> None:
        self.take: Callable[[], Any] = itertools.cycle(batches).__next__

    def left(self) -> float:
        return math.inf

    def renew(self) -> None:
        raise AssertionError("cached batches do not run out")


def cached_batches(supply: LoaderSupply) -> list[Any]:
    """So many batches that none is still in the processor's cache, and no more memory than needed for that."""
    _, first = supply.start()
    count = max(2, min(CACHED_BATCHES, CACHED_BYTES // max(1, host_bytes(first))))
    return [first, *(supply.take() for _ in range(count - 1))]


def _batches_in_pass(examples: int, spec: TrialSpec) -> int:
    """What workers read ahead at the end of a pass belongs to the next one, whose data is no longer cold."""
    ahead = spec.settings.num_workers * spec.settings.prefetch_factor
    return max(1, examples // spec.settings.batch_size - ahead)
