"""Trials of steps that take seconds, fed by workers in turn, against a clock that the test controls."""

import math
from typing import Any

import pytest
import torch

from traindyno.analysis.flow_pace import pace_of
from traindyno.analysis.intervals import relative_half_width
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.records import Budget, Settings
from traindyno.worker.anatomy.instruments import Instruments, MarkedWaits
from traindyno.worker.anatomy.turns import Turns
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from worker.counted_device import SilentChannel

AHEAD = 2
ALL_ITS_TIME = Budget(seconds=5.0, relative_interval=0.0)


class Trained:
    """Workers that take turns and equally long; the first batch is there when it begins."""

    torch_device = torch.device("cpu")

    def __init__(self, workers: int, load_seconds: float, step_seconds: float) -> None:
        self.now, self._number = 0.0, 0
        self._load_seconds, self._step_seconds = load_seconds, step_seconds
        self._free = [0.0] * workers
        self._there: list[float] = []
        for _ in range(AHEAD * workers):
            self._assign()
        self.take()

    def _assign(self) -> None:
        worker = len(self._there) % len(self._free)
        self._free[worker] = max(self._free[worker], self.now) + self._load_seconds
        self._there.append(self._free[worker])

    def take(self) -> None:
        self.now = max(self.now, self._there[self._number])
        self._number += 1
        self._assign()

    def compute(self) -> None:
        self.now += self._step_seconds

    def ready(self) -> int:
        return sum(there <= self.now for there in self._there[self._number :])

    def clock(self) -> float:
        return self.now

    def left(self) -> float:
        return math.inf

    def renew(self) -> None: ...

    def synchronize(self) -> None: ...

    def check_memory(self) -> None: ...


class Signs(SilentChannel):
    """Notes how long nobody heard of the trial."""

    def __init__(self, trained: Trained) -> None:
        super().__init__()
        self._trained, self._heard, self.longest_silence = trained, trained.now, 0.0

    def step(self, *told: Any, **more: Any) -> None:
        now = self._trained.now
        self._heard, self.longest_silence = now, max(self.longest_silence, now - self._heard)


def measure(trained: Trained, workers: int, channel: SilentChannel) -> FlowTiming:
    pace, waits = pace_of(Settings(batch_size=8, num_workers=workers, prefetch_factor=AHEAD)), Stopwatch(trained.clock)
    take = waits.around(trained.take)

    def step() -> None:
        take()
        trained.compute()

    timer = FlowTimer(step, trained, waits, pace, trained, channel, clock=trained.clock, ready=trained.ready)  # type: ignore[arg-type]
    return timer.run(ALL_ITS_TIME)


@pytest.mark.parametrize(("workers", "step_seconds"), [(2, 1.0), (4, 0.5), (8, 2.5), (16, 1.0), (16, 2.5)])
def test_slow_steps_that_wait_for_nothing_make_enough_blocks_to_become_steady(
    workers: int, step_seconds: float
) -> None:
    trained = Trained(workers, load_seconds=0.5 * workers * step_seconds, step_seconds=step_seconds)
    told = measure(trained, workers, Signs(trained))
    seconds, interval = sustained_seconds(told.counted)
    assert told.timing.steady_from is not None
    assert relative_half_width(seconds, interval) < 0.01


@pytest.mark.parametrize("workers", [4, 8, 16])
@pytest.mark.parametrize("slower", [1.05, 1.3, 2.0])
def test_slow_steps_that_wait_are_timed_in_whole_turns_which_know_all_of_the_wait(workers: int, slower: float) -> None:
    trained = Trained(workers, load_seconds=slower * workers, step_seconds=1.0)
    told = measure(trained, workers, Signs(trained))
    assert {block.steps for block in told.timing.blocks} == {workers}
    assert sustained_seconds(told.counted)[0] == pytest.approx(slower)


@pytest.mark.parametrize("load_seconds", [1.0, 42.0])
def test_a_turn_of_slow_steps_is_not_silent(load_seconds: float) -> None:
    trained = Trained(16, load_seconds, step_seconds=2.5)
    signs = Signs(trained)
    measure(trained, 16, signs)
    assert signs.longest_silence < 10.0


def test_neither_are_the_turns_of_its_anatomy(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, instruments, waits = Trained(16, 42.0, step_seconds=2.5), Instruments(), MarkedWaits()
    monkeypatch.setattr(waits, "_clock", trained.clock)
    signs, take = Signs(trained), waits.around(trained.take)

    def step() -> None:
        take()
        trained.compute()

    def instrumented() -> None:
        instruments.mark("forward")
        step()

    pace = pace_of(Settings(batch_size=8, num_workers=16, prefetch_factor=AHEAD))
    turns = Turns(step, instrumented, instruments, trained, waits, pace, trained, signs)  # type: ignore[arg-type]
    monkeypatch.setattr(turns, "_clock", trained.clock)
    told = turns.run(ALL_ITS_TIME)
    assert {block.steps for block in told.timing.blocks} == {16}
    assert signs.longest_silence < 10.0
