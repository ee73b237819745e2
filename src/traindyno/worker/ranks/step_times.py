"""The time of every single step, without waiting for the device between them."""

import math
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import torch

from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.steps import Step


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


class Arrival(NamedTuple):
    """When a batch came to hand, by the host's clock, and how long the host had waited for it."""

    at: float
    waited: float


class Arrivals:
    """The arrival of each batch; `waits` tell what the host waits for."""

    def __init__(self, waits: Stopwatch) -> None:
        self._waits = waits
        self._found: list[Arrival] = []

    def of(self, next_batch: Callable[[], Any]) -> Callable[[], Any]:
        """The same function, whose batches are noted."""

        def noted() -> Any:
            batch = next_batch()
            self._found.append(Arrival(time.perf_counter(), math.fsum(self._waits.take())))
            return batch

        return noted

    def take(self, start: float = 0.0) -> list[Arrival]:
        """Those since the last time they were taken, in seconds from `start`."""
        found, self._found = self._found, []
        return [Arrival(each.at - start, each.waited) for each in found]


def ticking(step: Step, times: StepTimes) -> Step:
    """The same step, whose end is noted."""

    def noted() -> torch.Tensor | None:
        loss = step()
        times.tick()
        return loss

    return noted


def waited(seconds: Sequence[float], arrivals: Sequence[Arrival], last: int | None = None) -> float:
    """How long a device that makes these steps one after the other has nothing to do but wait for its batches, per step
    or for each of the `last`.

    The host of a GPU asks for the next batch while the device still computes: that costs nothing. Nor does the device
    wait for longer than the host: the rest is the copy.
    """
    ends = accumulate(seconds, initial=0.0)
    waits = [max(0.0, min(each.waited, each.at - done)) for each, done in zip(arrivals, ends, strict=False)]
    counted = len(seconds) if last is None else last
    return math.fsum(waits[-counted:]) / counted


def step_times_of(device: torch.device) -> StepTimes:
    return CudaStepTimes() if device.type == "cuda" else HostStepTimes()
