"""What is looked at beside a trial in a lane, on its own machine, and what a driver hears of it."""

import threading
from collections import deque

import msgspec

from traindyno.core.events import TrialProgress
from traindyno.core.records import Conditions
from traindyno.core.soaking import Series
from traindyno.machine.descent import descendants_of
from traindyno.machine.gpu import GpuReader, cuda_index
from traindyno.machine.readings import Readings
from traindyno.machine.sampler import Sampler
from traindyno.runner.protocol import Watcher
from traindyno.runner.ray_words import LaneOrders

MOST_PROGRESS = 64
SAMPLE_SECONDS = {False: 0.25, True: 5.0}


class LaneWatcher(Watcher):
    """Watches a trial beside it, for a driver that asks from time to time."""

    def __init__(self, reader: GpuReader, orders: LaneOrders, takes_readings: bool) -> None:
        self.stopping = threading.Event()
        self._progress: deque[TrialProgress] = deque(maxlen=MOST_PROGRESS)
        self._pid: int | None = None
        index, is_real = cuda_index(orders.device), not orders.runner.startswith("simulated")
        self._sampler = Sampler(reader, index, SAMPLE_SECONDS[takes_readings], self._own_pids)
        self._readings = Readings(reader, index) if takes_readings and is_real else None

    def progress(self, progress: TrialProgress) -> None:
        self._sampler.hear(progress)
        if self._readings is not None:
            progress = msgspec.structs.replace(progress, reading=self._readings.latest)
        self._progress.append(progress)

    def tick(self, now: float, pid: int | None) -> None:
        self._pid = pid
        self._sampler.tick(now)
        if self._readings is not None:
            self._readings.tick(now, pid)

    def should_stop(self) -> bool:
        return self.stopping.is_set()

    def told(self) -> tuple[TrialProgress, ...]:
        """What was not told yet; of a flood, the latest."""
        return tuple(self._progress.popleft() for _ in range(len(self._progress)))

    def conditions(self) -> Conditions:
        return self._sampler.conditions()

    def series(self) -> Series | None:
        return None if self._readings is None else self._readings.series()

    def _own_pids(self) -> tuple[int, ...]:
        return () if self._pid is None else (self._pid, *descendants_of(self._pid))
