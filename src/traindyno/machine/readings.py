"""Readings of the machine beside a long trial, once a second, from within someone else's loop.

What taking them costs is measured with them.
"""

import os
import time
from collections.abc import Callable

import psutil

from traindyno.core.machine import GpuSample
from traindyno.core.soaking import Reading, Series
from traindyno.machine.gpu import GpuReader
from traindyno.machine.process_tree import ProcessTree

INTERVAL_SECONDS = 1.0
FOREIGN_PROCESSES_EVERY_READINGS = 5
COUNTERS_EVERY_READINGS = 5
"""Energy and throttling are counted by the driver, which takes long to tell and forgets nothing in between."""
# A kernel that hardly counts CPU time, as in some sandboxes, does not tell who is busy.
LEAST_COUNTED = 0.5


class CpuClock:
    """CPU seconds spent since the last reading, on the CPUs that this process may use."""

    def __init__(self) -> None:
        self._cpus = sorted(os.sched_getaffinity(0))
        self._busy, self._total = self._read()

    @property
    def cpus(self) -> int:
        return len(self._cpus)

    def busy_seconds(self, elapsed: float) -> float | None:
        """By everybody together; null where the kernel does not count."""
        busy, total = self._read()
        spent, counted = busy - self._busy, total - self._total
        self._busy, self._total = busy, total
        return spent if counted > LEAST_COUNTED * elapsed * self.cpus else None

    def _read(self) -> tuple[float, float]:
        times = psutil.cpu_times(percpu=True)
        mine = [times[cpu] for cpu in self._cpus if cpu < len(times)]
        # Time of guests is a part of users' time already.
        total = sum(sum(each[:8]) for each in mine)
        return total - sum(each.idle + getattr(each, "iowait", 0.0) for each in mine), total


class Readings:
    """Takes a reading whenever `tick` finds that a second has passed. `visible_index` is null on a CPU."""

    def __init__(
        self,
        reader: GpuReader,
        visible_index: int | None,
        interval_seconds: float = INTERVAL_SECONDS,
        cpu_clock: Callable[[], CpuClock] = CpuClock,
    ) -> None:
        self._reader = reader
        self._index = visible_index
        self._interval_seconds = interval_seconds
        self._cpu_clock = cpu_clock()
        self._due: float | None = None
        self._tree: ProcessTree | None = None
        self._readings: list[Reading] = []
        self._foreign: int | None = None
        self._own_before: float | None = None
        self._ours_before = time.process_time()
        self._cost_seconds = 0.0

    @property
    def latest(self) -> Reading | None:
        return self._readings[-1] if self._readings else None

    def tick(self, now: float, pid: int | None) -> None:
        """Take a reading if it is time; `now` is the monotonic clock, `pid` the trial's process."""
        if self._due is not None and now < self._due:
            return
        self._due = now + self._interval_seconds
        began = time.thread_time()
        self._readings.append(self._take(now, pid))
        self._cost_seconds += time.thread_time() - began

    def series(self) -> Series | None:
        """All readings so far; null before there is any."""
        if not self._readings:
            return None
        span = self._readings[-1].at - self._readings[0].at
        return Series(readings=tuple(self._readings), cost=self._cost_seconds / span if span > 0 else None)

    def _take(self, now: float, pid: int | None) -> Reading:
        if pid is not None and (self._tree is None or self._tree.pid != pid):
            self._tree, self._own_before = ProcessTree(pid), None
        tree = self._tree
        if tree is not None:
            tree.look()
        own, other = self._shares(now, tree)
        counters = len(self._readings) % COUNTERS_EVERY_READINGS == 0
        sample = None if self._index is None else self._reader.sample(self._index, counters=counters)
        sample = sample or GpuSample(index=self._index or 0)
        return Reading(
            at=now,
            sm_clock_mhz=sample.sm_clock_mhz,
            memory_clock_mhz=sample.memory_clock_mhz,
            temperature_celsius=sample.temperature_celsius,
            power_watts=sample.power_watts,
            energy_joules=sample.energy_joules,
            utilization_percent=sample.utilization_percent,
            memory_used_bytes=sample.memory_used_bytes,
            clock_reasons=sample.clock_reasons,
            throttle_counters=sample.throttle_counters,
            foreign_gpu_processes=self._foreign_processes(tree),
            own_cpu_share=own,
            other_cpu_share=other,
            own_memory_bytes=None if tree is None else tree.memory_bytes(),
            disk_read_bytes=None if tree is None else tree.disk_read_bytes(),
        )

    def _shares(self, now: float, tree: ProcessTree | None) -> tuple[float | None, float | None]:
        """The trial's share of the CPUs since the last reading, and everybody else's but ours."""
        own, own_before = None if tree is None else tree.cpu_seconds(), self._own_before
        ours, ours_before = time.process_time(), self._ours_before
        self._own_before, self._ours_before = own, ours
        elapsed = now - self._readings[-1].at if self._readings else 0.0
        busy = self._cpu_clock.busy_seconds(elapsed)
        if own is None or own_before is None or elapsed <= 0:
            return None, None
        spent, whole = max(0.0, own - own_before), elapsed * self._cpu_clock.cpus
        if busy is None:
            return min(1.0, spent / whole), None
        others = busy - spent - (ours - ours_before)
        return min(1.0, spent / whole), min(1.0, max(0.0, others / whole))

    def _foreign_processes(self, tree: ProcessTree | None) -> int | None:
        if self._index is not None and len(self._readings) % FOREIGN_PROCESSES_EVERY_READINGS == 0:
            found = self._reader.foreign_processes(self._index, () if tree is None else tree.pids)
            self._foreign = None if found is None else len(found)
        return self._foreign
