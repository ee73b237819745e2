"""Loader workers as torch has them, against a clock that the test controls."""

import math
import random
from collections.abc import Callable

import torch

from traindyno.core.records import Settings
from traindyno.worker.data.stopwatch import Stopwatch


class ImaginedWorkers:
    """Each makes its batches in order, they are taken in order, and for each that is taken another one is asked for.

    The first worker may begin late, batches may take unevenly long, and each has some way from its worker to the step.
    The first batch is there when it begins. The first step may take longer than those that follow.
    """

    torch_device = torch.device("cpu")

    def __init__(
        self,
        settings: Settings,
        making: float,
        step: float,
        late: float = 0.0,
        uneven: float = 0.0,
        way: float = 0.0,
        first: float = 0.0,
    ) -> None:
        self.now, self.making, self._first = 0.0, making, first
        self._step_seconds, self._late, self._uneven, self._way = step, late, uneven, way
        self._random = random.Random(0)
        self._free = [0.0] * settings.num_workers
        self._done: list[float] = []
        self._taken = 0
        for _ in range(settings.num_workers * settings.prefetch_factor):
            self._ask()
        self.take()

    @property
    def asked(self) -> int:
        """How many batches have been asked for."""
        return len(self._done)

    def _ask(self) -> None:
        worker = self.asked % len(self._free)
        begins = max(self.now, self._free[worker]) + (0.0 if self._done else self._late)
        self._free[worker] = begins + self.making * (1 + self._uneven * self._random.uniform(-1, 1))
        self._done.append(self._free[worker])

    def take(self) -> None:
        self.now = max(self.now, self._done[self._taken]) + self._way
        self._taken += 1
        self._ask()

    def compute(self) -> None:
        self.now += self._first + self._step_seconds
        self._first = 0.0

    def ready(self) -> int:
        return sum(done <= self.now for done in self._done[self._taken :])

    def step_timed_by(self, waits: Stopwatch) -> Callable[[], None]:
        """A step whose waits for its batch are told."""
        take = waits.around(self.take)

        def step() -> None:
            take()
            self.compute()

        return step

    def clock(self) -> float:
        return self.now

    def left(self) -> float:
        return math.inf

    def renew(self) -> None: ...

    def synchronize(self) -> None: ...

    def check_memory(self) -> None: ...


class OnDevice(ImaginedWorkers):
    """Steps are queued at once, and a device does one after the other: only to wait for it takes time."""

    _done_on_device = 0.0

    def compute(self) -> None:
        self.now, self._first = self.now + self._first, 0.0
        self._done_on_device = max(self._done_on_device, self.now) + self._step_seconds

    def synchronize(self) -> None:
        self.now = max(self.now, self._done_on_device)
