"""The time of every single step, without waiting for the device between them."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import torch


class StepTimes(Protocol):
    """Is told at the beginning of a block and after each step; read once the device has done all of them."""

    def tick(self) -> None: ...

    def read(self) -> list[float]: ...


class HostStepTimes:
    """By the host's clock, where a step is done when its call returns."""

    def __init__(self) -> None:
        self._ticks: list[float] = []

    def tick(self) -> None:
        self._ticks.append(time.perf_counter())

    def read(self) -> list[float]:
        ticks, self._ticks = self._ticks, []
        return [after - before for before, after in pairwise(ticks)]


class CudaStepTimes:
    """By events on the device."""

    def __init__(self) -> None:
        self._ticks: list[torch.cuda.Event] = []

    def tick(self) -> None:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        self._ticks.append(event)

    def read(self) -> list[float]:
        ticks, self._ticks = self._ticks, []
        return [before.elapsed_time(after) / 1000 for before, after in pairwise(ticks)]


class Arrivals:
    """When each batch came to hand, by the host's clock."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def of(self, next_batch: Callable[[], Any]) -> Callable[[], Any]:
        """The same function, whose batches are noted."""

        def noted() -> Any:
            batch = next_batch()
            self._times.append(time.perf_counter())
            return batch

        return noted

    def take(self, start: float = 0.0) -> list[float]:
        """Seconds from `start` to every batch since the last time they were taken."""
        times, self._times = self._times, []
        return [each - start for each in times]


def step_times_of(device: torch.device) -> StepTimes:
    return CudaStepTimes() if device.type == "cuda" else HostStepTimes()
