"""A supply of batches that come out on the device, as the model takes them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

import torch

from traindyno.core.records import Settings
from traindyno.worker.batches import BatchSource, to_device
from traindyno.worker.data.loadable import Loadable
from traindyno.worker.data.stopwatch import Stopwatch


class Supply(Protocol):
    """Batches on the host; it must begin anew before it has given more than are left."""

    def take(self) -> Any: ...

    def left(self) -> float: ...

    def renew(self) -> None: ...


@contextlib.contextmanager
def placing_whole(
    take: Callable[[], Any], settings: Settings, device: torch.device, waits: Stopwatch
) -> Iterator[Callable[[], Any]]:
    """Batches that the model takes as they are: only moved to the device."""
    timed, non_blocking = waits.around(take), settings.pin_memory
    yield lambda: to_device(timed(), device, non_blocking)


class PlacedSupply:
    """Takes from a supply on the host and places on the device; `waits` are told what a batch is waited for.

    Without workers this process loads the next batch while a GPU still computes. Whoever waits for the GPU in between
    must `load_ahead` before, or the two would follow each other where training has them at once.
    """

    def __init__(
        self,
        supply: Supply,
        source: BatchSource | Loadable,
        settings: Settings,
        device: torch.device,
        waits: Stopwatch,
    ) -> None:
        self._supply, self._waits = supply, waits
        self._loads_here = settings.num_workers == 0 and settings.decoder != "nvjpeg" and device.type != "cpu"
        self._loaded: list[Any] = []
        placing = source.placing if isinstance(source, Loadable) else placing_whole
        self._placing = functools.partial(placing, self._take, settings, device, waits)
        self._open = contextlib.ExitStack()
        self._next: Callable[[], Any] = self._open.enter_context(self._placing())

    def next(self) -> Any:
        return self._next()

    def load_ahead(self) -> None:
        """Have the next batch in host memory, if it is this process that loads it, and nothing must begin anew."""
        if self._loads_here and not self._loaded and self._supply.left() >= 1:
            self._loaded.append(self._waits.beforehand(self._supply.take))

    def left(self) -> float:
        return self._supply.left() + len(self._loaded)

    def renew(self) -> None:
        self._open.close()
        self._loaded.clear()
        self._supply.renew()
        self._next = self._open.enter_context(self._placing())

    def _take(self) -> Any:
        return self._loaded.pop() if self._loaded else self._supply.take()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.close()
