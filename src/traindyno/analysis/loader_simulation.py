"""A small event simulation of torch's loader feeding a step, on a machine with so many CPUs.

Batch `i` belongs to worker `i` modulo the number of workers and is delivered in order. Each worker may be
`prefetch_factor` batches ahead. The main process takes a batch (paying the hand-off), moves it to the device, and
steps. On a CPU the step keeps the main process and some CPUs busy; on an accelerator it only has to be launched, and
the main process may run a few steps ahead. CPUs are shared as a fluid: every thread that wants one gets an equal share,
and what a thread leaves (a worker that waits for its disk) goes to the others.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Generator
from functools import lru_cache
from itertools import count
from typing import Literal

from traindyno.analysis.cpu_sharing import CpuSharing
from traindyno.core.base import Record

Transfer = Literal["blocking", "queued"]
"""How a batch comes to the device: the main process waits for it, or it queues before the step."""

_FEWEST_MEASURED = 64
_FEWEST_MEASURED_UNEVEN = 160
_RAMP = 8
_LONG_EPOCH, _EPOCHS = 4, 5
_Task = tuple[Literal["compute", "until", "batch"], float, float]


class PipelineModel(Record, frozen=True):
    """The parts of a pipeline, each as it is when alone. Seconds are per batch.

    `load_cpu_share` is the part of loading that needs a CPU, the rest waits. `load_pattern` are relative load times,
    dealt out in a fixed random order, for batches that differ. `contention` is how much each further busy worker slows
    all of them down although there are CPUs for all (caches, memory). `step_threads` are the CPUs that a step on
    the CPU keeps busy; with a share `s` of them it runs at `s ** step_sensitivity` of its speed, because its threads
    wait for the slowest of them. `pin_seconds` null means that no thread pins batches; one that does also takes the
    hand-off from the main process.
    """

    num_workers: int
    load_seconds: float
    step_seconds: float = 0.0
    load_cpu_share: float = 1.0
    load_pattern: tuple[float, ...] = (1.0,)
    prefetch_factor: int = 2
    hand_off_seconds: float = 0.0
    pin_seconds: float | None = None
    transfer_seconds: float = 0.0
    transfer: Transfer = "blocking"
    asynchronous: bool = False
    launch_seconds: float = 0.0
    launch_lead: int = 2
    step_threads: float = 1.0
    step_sensitivity: float = 1.0
    contention: float = 0.0
    cpus: float = math.inf


class Forecast(Record, frozen=True):
    """Steady seconds per step."""

    step_seconds: float


@lru_cache(maxsize=1024)
def simulate(model: PipelineModel) -> Forecast:
    """Run enough batches to be steady, discard what prefetching gave at the start, and time the rest."""
    ahead = max(1, model.num_workers) * model.prefetch_factor
    discarded = 2 * ahead + _RAMP
    workers = max(1, model.num_workers)
    fewest = _FEWEST_MEASURED if len(model.load_pattern) == 1 else _FEWEST_MEASURED_UNEVEN
    measured = workers * math.ceil(max(fewest, 3 * ahead) / workers)
    run = _Run(model, discarded + measured)
    while len(run.finished) < discarded + measured:
        run.advance()
    return Forecast(step_seconds=(run.finished[-1] - run.finished[discarded - 1]) / measured)


@lru_cache(maxsize=256)
def simulate_epoch_end(model: PipelineModel, batches: int) -> float:
    """Seconds that an epoch of so many batches takes longer than as many of a loader without end.

    Workers that stay have nothing to do until the last batch of an epoch has been taken, and then all begin at once. An
    accelerator is waited for before, as by whoever reads the epoch's loss. Beyond a few rounds of the workers the
    length of the epoch says no more.
    """
    if model.num_workers == 0:
        return 0.0
    length = max(1, min(batches, _LONG_EPOCH * model.num_workers * model.prefetch_factor + batches % model.num_workers))
    run = _Run(model, _EPOCHS * length, length)
    while len(run.finished) < _EPOCHS * length:
        run.advance()
    epoch = (run.finished[-1] - run.finished[length - 1]) / (_EPOCHS - 1)
    return max(0.0, epoch - length * simulate(model).step_seconds)


@lru_cache(maxsize=256)
def simulate_first_batch(model: PipelineModel) -> float:
    """Seconds until the first batch has been taken and used, if all workers begin at once."""
    run = _Run(model, 1)
    while not run.finished:
        run.advance()
    return run.finished[0]


class _Run:
    """The state of one simulation. Busy workers all progress at one rate, so their ends are kept in progress made."""

    def __init__(self, model: PipelineModel, batches: int, epoch_batches: int | None = None) -> None:
        self.model = model
        self._epoch_batches = epoch_batches or batches + max(1, model.num_workers) * model.prefetch_factor
        self.finished: list[float] = []
        self._loads = _dealt(model, batches + max(1, model.num_workers) * model.prefetch_factor)
        self._clock = 0.0
        self._progress = 0.0
        self._busy: list[tuple[float, int]] = []
        self._assigned: list[deque[int]] = [deque() for _ in range(model.num_workers)]
        self._arrived: set[int] = set()
        self._pin_queue: deque[int] = deque()
        self._pin_left = 0.0
        self._cpus = CpuSharing(model.cpus, model.load_cpu_share, model.contention)
        self._device_free = 0.0
        self._main = self._main_process()
        self._task = next(self._main)
        self._task_left = self._task[1]

    def advance(self) -> None:
        """Go to the next event: a worker, the pinning thread or the main process finishes something."""
        kind, target, threads = self._task
        computing = kind == "compute"
        others = (threads if computing else 0.0) + bool(self._pin_queue)
        worker_rate, thread_rate = self._cpus.rates(len(self._busy), others)
        main_rate = thread_rate**self.model.step_sensitivity if threads > 1 else thread_rate
        to_worker = (self._busy[0][0] - self._progress) / worker_rate if self._busy else math.inf
        to_pin = self._pin_left / thread_rate if self._pin_queue else math.inf
        to_main = self._task_left / main_rate if computing else target - self._clock if kind == "until" else math.inf
        elapsed = max(0.0, min(to_worker, to_pin, to_main))
        self._clock += elapsed
        self._progress += elapsed * worker_rate
        if self._pin_queue:
            self._pin_left -= elapsed * thread_rate
        if computing:
            self._task_left -= elapsed * main_rate
        if to_main <= elapsed:
            self._resume()
        elif to_worker <= elapsed:
            self._worker_done()
        else:
            self._deliver(self._pin_queue.popleft())
            self._pin_left = self._pin_work

    def _main_process(self) -> Generator[_Task, None, None]:
        model = self.model
        for index in count():
            yield from self._take(index)
            if model.asynchronous:
                yield from self._launch(index)
            else:
                yield "compute", model.transfer_seconds + model.step_seconds, model.step_threads
                self.finished.append(self._clock)

    def _take(self, index: int) -> Generator[_Task, None, None]:
        model = self.model
        if model.num_workers == 0:
            yield "compute", self._loads[index], model.load_cpu_share
            return
        if index % self._epoch_batches == 0:
            if index and model.asynchronous:
                yield "until", max(self._clock, self._device_free), 0.0
            self._begin_epoch(index)
        if index not in self._arrived:
            yield "batch", index, 0.0
        self._arrived.remove(index)
        if model.pin_seconds is None and model.hand_off_seconds:
            yield "compute", model.hand_off_seconds, 1.0
        following = index + model.num_workers * model.prefetch_factor
        if following // self._epoch_batches == index // self._epoch_batches:
            self._assign(following)

    def _begin_epoch(self, first: int) -> None:
        for index in range(
            first, first + min(self._epoch_batches, self.model.num_workers * self.model.prefetch_factor)
        ):
            self._assign(index)

    def _launch(self, index: int) -> Generator[_Task, None, None]:
        """Queue the copy and the step on the device; it does them in order, and `launch_lead` may be waiting."""
        model = self.model
        if model.transfer == "blocking" and model.transfer_seconds:
            yield "until", max(self._clock, self._device_free) + model.transfer_seconds, 0.0
            there = self._clock
        else:
            there = max(self._clock, self._device_free) + model.transfer_seconds
        if index >= model.launch_lead and self.finished[index - model.launch_lead] > self._clock:
            yield "until", self.finished[index - model.launch_lead], 0.0
        start = max(there, self._clock, self._device_free)
        if model.launch_seconds:
            yield "compute", model.launch_seconds, 1.0
        self._device_free = max(start + model.step_seconds, self._clock)
        self.finished.append(self._device_free)

    def _resume(self) -> None:
        self._task = next(self._main)
        self._task_left = self._task[1]

    def _assign(self, index: int) -> None:
        """Give a batch to the worker whose turn it is; it begins at once if it has nothing else to do."""
        if index >= len(self._loads):
            return
        queue = self._assigned[index % self.model.num_workers]
        queue.append(index)
        if len(queue) == 1:
            self._begin(index)

    def _begin(self, index: int) -> None:
        heapq.heappush(self._busy, (self._progress + self._loads[index], index))

    def _worker_done(self) -> None:
        index = heapq.heappop(self._busy)[1]
        queue = self._assigned[index % self.model.num_workers]
        queue.popleft()
        if queue:
            self._begin(queue[0])
        if self.model.pin_seconds is None:
            self._deliver(index)
            return
        if not self._pin_queue:
            self._pin_left = self._pin_work
        self._pin_queue.append(index)

    @property
    def _pin_work(self) -> float:
        return self.model.hand_off_seconds + (self.model.pin_seconds or 0.0)

    def _deliver(self, index: int) -> None:
        self._arrived.add(index)
        if self._task[0] == "batch" and self._task[1] == index:
            self._resume()


def _dealt(model: PipelineModel, batches: int) -> list[float]:
    """The load time of each batch: the pattern again and again, each time in another order."""
    order = random.Random(0)
    loads: list[float] = []
    while len(loads) < batches:
        dealt = [model.load_seconds * relative for relative in model.load_pattern]
        order.shuffle(dealt)
        loads += dealt
    return loads[:batches]
