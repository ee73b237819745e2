"""Watch the device while a trial runs, from within someone else's loop, and sum up what was seen."""

import os
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from traindyno.core.events import CEILINGS, TrialProgress
from traindyno.core.machine import GpuSample
from traindyno.core.records import Conditions
from traindyno.machine.gpu import GpuReader

Number = TypeVar("Number", int, float)

FOREIGN_PROCESSES_EVERY_SAMPLES = 8
SETTLE_SECONDS = 1.0
"""So long after a trial's start its GPU may still tell of the trial before: of its power, and of clocks held back."""


class Sampler:
    """Takes a sample whenever `tick` finds that the interval has passed. `visible_index` is null on a CPU."""

    def __init__(
        self,
        reader: GpuReader,
        visible_index: int | None,
        interval_seconds: float = 0.25,
        own_pids: Callable[[], Collection[int]] = lambda: (os.getpid(),),
        load_average: Callable[[], float | None] | None = None,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._reader = reader
        self._index = visible_index
        self._interval_seconds = interval_seconds
        self._own_pids = own_pids
        self._load_average = load_average or one_minute_load
        self._due: float | None = None
        self._settle_seconds = settle_seconds
        self._gpu_from: float | None = None
        self._paused = False
        self._looks = 0
        self._samples: list[GpuSample] = []
        self._foreign: list[int] = []
        self._loads: list[float] = []

    def tick(self, now: float) -> None:
        """Sample if it is time; `now` is the caller's monotonic clock. Cheap to call too often."""
        if self._paused or (self._due is not None and now < self._due):
            return
        if self._gpu_from is None:
            self._gpu_from = now + self._settle_seconds
        self._due = now + self._interval_seconds
        self._look_at_host()
        if self._index is not None and now >= self._gpu_from:
            self._look_at_gpu(self._index)

    def hear(self, progress: TrialProgress) -> None:
        """Look away while the trial does other than what it measures."""
        self._paused = progress.phase == CEILINGS

    def conditions(self) -> Conditions:
        """Ranges over what was seen; clock, power and throttling count only while the GPU was busy."""
        busy = [sample for sample in self._samples if sample.busy]
        return Conditions(
            samples=len(self._samples),
            sm_clock_mhz=_range(sample.sm_clock_mhz for sample in busy),
            temperature_celsius=_range(sample.temperature_celsius for sample in self._samples),
            power_watts=_range(sample.power_watts for sample in busy),
            throttle_reasons=_throttle_reasons(busy),
            foreign_processes=max(self._foreign, default=None),
            load_average=max(self._loads, default=None),
        )

    def _look_at_host(self) -> None:
        load = self._load_average()
        if load is not None:
            self._loads.append(load)

    def _look_at_gpu(self, index: int) -> None:
        sample = self._reader.sample(index)
        if sample is not None:
            self._samples.append(sample)
        if self._looks % FOREIGN_PROCESSES_EVERY_SAMPLES == 0:
            processes = self._reader.foreign_processes(index, self._own_pids())
            if processes is not None:
                self._foreign.append(len(processes))
        self._looks += 1


def one_minute_load() -> float | None:
    """The host's load average over the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _throttle_reasons(samples: Iterable[GpuSample]) -> tuple[str, ...]:
    reasons = (reason for sample in samples for reason in sample.throttle_reasons)
    return tuple(dict.fromkeys(reasons))


def _range(values: Iterable[Number | None]) -> tuple[Number, Number] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
