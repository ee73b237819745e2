"""Instruments in a step: when each of its phases began, on the host's clock and on the device's own timeline."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, ParamSpec, TypeVar

import torch

from traindyno.core.anatomy import PhaseName
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.steps import Marks

Clock = Callable[[], float]
P = ParamSpec("P")
T = TypeVar("T")


class Reading(NamedTuple):
    """Seconds per step of one phase: on the device's timeline, and of the host."""

    seconds: float
    host_seconds: float


class Instruments:
    """The host's clock at the start of every phase. A phase lasts until the next begins; on a CPU that is all."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock = clock
        self._phases: list[PhaseName] = []
        self._times: list[float] = []

    def mark(self, phase: PhaseName) -> None:
        self._phases.append(phase)
        self._times.append(self._clock())

    def close(self) -> None:
        """The last phase of the block ends here."""
        self.mark("other")

    def read(self, steps: int) -> dict[PhaseName, Reading]:
        """What the phases of a block took per step. Call this once the device is done with the block."""
        host = [after - before for before, after in pairwise(self._times)]
        sums: dict[PhaseName, tuple[float, float]] = {}
        for phase, seconds, host_seconds in zip(self._phases, self._device_seconds(host), host, strict=False):
            before = sums.get(phase, (0.0, 0.0))
            sums[phase] = (before[0] + seconds, before[1] + host_seconds)
        self._phases, self._times = [], []
        return {phase: Reading(seconds / steps, host / steps) for phase, (seconds, host) in sums.items()}

    def _device_seconds(self, host: Sequence[float]) -> Sequence[float]:
        return host


class CudaInstruments(Instruments):
    """Also an event on the stream that computes, at the start of every phase.

    An event is passed when the device has done all that was queued before it. So a phase begins for the device when it
    gets there, be it behind the host or waiting for it: `load` is how long the device had nothing to do before the
    batch came, `transfer` the copy and what makes inputs of it on the same stream, and a device that waits for the
    host in `forward` spends that time in `forward`. Events are made in the first block and used again in each.
    """

    def __init__(self, device: torch.device, clock: Clock = time.perf_counter) -> None:
        super().__init__(clock)
        self._stream = torch.cuda.current_stream(device)
        self._events: list[torch.cuda.Event] = []

    def mark(self, phase: PhaseName) -> None:
        super().mark(phase)
        number = len(self._phases) - 1
        if number == len(self._events):
            self._events.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
        self._events[number].record(self._stream)

    def _device_seconds(self, host: Sequence[float]) -> Sequence[float]:
        marked = self._events[: len(host) + 1]
        return [before.elapsed_time(after) / 1000 for before, after in pairwise(marked)]


def open_instruments(device: torch.device) -> Instruments:
    return CudaInstruments(device) if device.type == "cuda" else Instruments()


class MarkedWaits(Stopwatch):
    """How long batches were waited for; once a batch is there, its transfer begins, which is marked where asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._marks: Marks | None = None

    @contextmanager
    def marking(self, marks: Marks) -> Iterator[None]:
        self._marks = marks
        try:
            yield
        finally:
            self._marks = None

    def around(self, function: Callable[P, T]) -> Callable[P, T]:
        timed = super().around(function)

        def marked(*arguments: P.args, **keywords: P.kwargs) -> T:
            batch = timed(*arguments, **keywords)
            if self._marks is not None:
                self._marks.mark("transfer")
            return batch

        return marked
