"""The seam between trials that load examples and the data they load."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import torch

from traindyno.core.loading import Depth
from traindyno.core.records import Settings
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.loading import Endless
from traindyno.worker.data.staged import Staged
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.warmth import Alive, Warmth
from traindyno.worker.errors import NothingToLoadError


@runtime_checkable
class Loadable(Protocol):
    """Data that loader workers can make batches of."""

    @property
    def examples(self) -> int: ...

    @property
    def most_workers(self) -> int | None:
        """How many workers can share the data; null where any number can."""
        ...

    @property
    def same_from_workers(self) -> bool:
        """Whether batches are the same from any number of workers, or none."""
        ...

    def buffered_examples(self, workers: int) -> int:
        """How many examples so many workers read before they give the first."""
        ...

    @property
    def notes(self) -> list[str]:
        """What a reader of the measurement should know about the data."""
        ...

    def endless(
        self, settings: Settings, seed: int, skipped: SkippedExamples | None, depth: Depth, drawn: int | None
    ) -> Endless:
        """A loader without end over `drawn` of the examples, or all."""
        ...

    def staged(self, settings: Settings, seed: int, skipped: SkippedExamples | None) -> Staged:
        """Batches made in this process, stage by stage."""
        ...

    def placing(
        self, take: Callable[[], Any], settings: Settings, device: torch.device, waits: Stopwatch
    ) -> AbstractContextManager[Callable[[], Any]]:
        """A function for the next batch on the device; what it waits for a batch goes to `waits`."""
        ...

    def warm(self, settings: Settings, seed: int, skipped: SkippedExamples | None, alive: Alive) -> Warmth: ...

    def cold(self) -> Warmth: ...


def loadable(source: object) -> Loadable:
    """The source, if it is one to load from."""
    if isinstance(source, Loadable):
        return source
    raise NothingToLoadError(
        "there is nothing to load: the batches of this workload are made up on the device",
        "name data with --data, such as folder:PATH, or give the Workload a dataset or a loader",
    )
