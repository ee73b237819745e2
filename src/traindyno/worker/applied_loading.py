"""The loader that a script gets from `traindyno.apply`: epochs of batches on the device, loaded as in a trial."""

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import torch
from torch.utils.data import DataLoader

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loadable import Loadable, loadable
from traindyno.worker.data.loading import start_loader
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.image_data import SYNTHETIC, open_data, source_of
from traindyno.worker.job import open_source
from traindyno.worker.loaders import dataset_source, loader_source

_NOTHING_LEFT = object()


class _EpochEndsError(Exception):
    """Not `StopIteration`: the generator that a decoder on the GPU takes from would not let it through."""


class AppliedLoader:
    """Batches on the device, as the model takes them. To iterate is one epoch; the next is in another order.

    The short batch at the end of an epoch is left out. A stream is never begun anew: an epoch is the next part of it,
    as long as the data has examples.
    """

    def __init__(
        self, source: Loadable, settings: Settings, device: torch.device, seed: int, skip_bad: bool = False
    ) -> None:
        skipped = SkippedExamples() if skip_bad else None
        if skipped is not None:
            weakref.finalize(self, skipped.__exit__, None, None, None)
        endless = source.endless(settings, seed, skipped, "examples", None)
        if endless.batches is not None:
            endless.batches.stop_at_epochs()
        self.data_loader: DataLoader[Any] = endless.loader
        # Holds the line by which a worker says why it ended.
        self._flow = Flow(endless)
        self._source, self._settings, self._device = source, settings, device
        self._is_stream = endless.batches is None
        self._stream: Iterator[Any] | None = None

    def __len__(self) -> int:
        return self._source.examples // self._settings.batch_size

    def __iter__(self) -> Iterator[Any]:
        batches = self._epoch()
        with self._source.placing(lambda: _take(batches), self._settings, self._device, Stopwatch()) as place:
            while True:
                try:
                    batch = self._explained(place)
                except _EpochEndsError:
                    return
                yield batch

    def _explained(self, place: Callable[[], Any]) -> Any:
        """The next batch. Where a worker ended over it, the error says why."""
        try:
            return place()
        except Exception as error:
            ended = self._flow.explain(error)
            if ended is None:
                raise
            raise ended from error

    def _epoch(self) -> Iterator[Any]:
        if not self._is_stream:
            return start_loader(self.data_loader)
        if self._stream is None:
            self._stream = start_loader(self.data_loader)
        return itertools.islice(self._stream, len(self))


def open_applied(data: Any, spec: WorkloadSpec, settings: Settings, device: torch.device, seed: int) -> AppliedLoader:
    """A loader of the user's own dataset or `DataLoader`, or of data by name, which `spec` says how to cut."""
    if isinstance(data, str):
        spec = msgspec.structs.replace(spec, data=data)
        return AppliedLoader(_named(spec), settings, device, seed, spec.skip_bad)
    if settings.decoder != "pil":
        raise UsageError(
            f"the decoder {settings.decoder} is for data that traindyno reads, and your own dataset decodes by itself",
            'name the data, such as dataset="folder:PATH", or set decoder to "pil"',
        )
    source = loader_source(data) if isinstance(data, DataLoader) else dataset_source(data)
    return AppliedLoader(source, settings, device, seed)


def _named(spec: WorkloadSpec) -> Loadable:
    """Cut as asked for, else as a known model takes it. A model from a file is never built here: it is the user's."""
    if spec.image_size is None and spec.model and not spec.runs_user_code and spec.data != SYNTHETIC:
        return loadable(open_source(msgspec.structs.replace(spec, classes=None)))
    opened = open_data(spec)
    if opened is None:
        raise UsageError(
            f"{spec.data} is made up on the device: there is nothing to train on", "name data such as folder:PATH"
        )
    return source_of(opened, spec, None, [])


def _take(batches: Iterator[Any]) -> Any:
    """The next batch. An error of ours comes out of a worker as if it were a batch."""
    batch = next(batches, _NOTHING_LEFT)
    if batch is _NOTHING_LEFT:
        raise _EpochEndsError
    if isinstance(batch, TraindynoError):
        raise batch
    return batch
