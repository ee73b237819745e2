"""What it costs the main process to take a finished batch over from a worker, and to bring it to the device.

A worker hands over copies of one batch, so nothing is waited for but the hand-over itself. The copies are new memory
each time, as in a real loader: the pages of a batch that the process has already seen would be cheaper to read.
"""

import copy
import itertools
import time
from typing import Any

import msgspec
from torch.utils.data import Dataset

from traindyno.analysis.intervals import median
from traindyno.core.records import Settings
from traindyno.worker.data.datasets import as_it_is
from traindyno.worker.data.flow import Flow, dropping
from traindyno.worker.data.loadable import Loadable
from traindyno.worker.data.loading import make_loader
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import Device

DISCARDED = 6
MEASURED = 20


class Copies(Dataset[Any]):
    """Copies of one batch, whatever is asked for."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __getitem__(self, index: int) -> Any:
        return copy.deepcopy(self._batch)


def hand_off_seconds(batch: Any, settings: Settings) -> float:
    """CPU seconds of the main thread to take one batch and give its memory back; not pinned."""
    computing = Stopwatch(time.thread_time)
    with _copies(batch, msgspec.structs.replace(settings, pin_memory=False)) as flow:
        take = computing.around(dropping(flow.take))
        for _ in range(DISCARDED + MEASURED):
            take()
    return median(computing.take()[DISCARDED:])


def transfer_seconds(batch: Any, source: Loadable, settings: Settings, device: Device) -> float:
    """Seconds from having a batch on the host to having it on the device as the model takes it.

    A decoder on the GPU works ahead in a thread of its own; then it is the seconds from one batch to the next.
    """
    waits = Stopwatch()
    with _copies(batch, settings) as flow, source.placing(flow.take, settings, device.torch_device, waits) as place:
        for _ in range(DISCARDED):
            place()
        device.synchronize()
        waits.take()
        laps = []
        for _ in range(MEASURED):
            start = time.perf_counter()
            place()
            device.synchronize()
            laps.append(time.perf_counter() - start)
    if settings.decoder == "nvjpeg":
        return median(laps)
    return median([lap - wait for lap, wait in zip(laps, waits.take(), strict=True)])


def _copies(batch: Any, settings: Settings) -> Flow:
    one_worker = msgspec.structs.replace(settings, num_workers=1, prefetch_factor=2, persistent_workers=False)
    flow = Flow(make_loader(Copies(batch), one_worker, as_it_is, "batch", sampler=itertools.repeat(0)))
    flow.start()
    return flow
