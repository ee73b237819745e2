"""Trials of steps that take seconds, fed by workers in turn, against a clock that the test controls."""

import itertools
from typing import Any

import pytest

from traindyno.analysis.flow_pace import pace_of
from traindyno.analysis.intervals import relative_half_width
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.records import Budget, Settings
from traindyno.worker.anatomy.instruments import Instruments, MarkedWaits
from traindyno.worker.anatomy.turns import Turns
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import CpuDevice
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from traindyno.worker.kinds import probe
from worker.counted_device import SilentChannel
from worker.imagined_workers import ImaginedWorkers

AHEAD = 2
ALL_ITS_TIME = Budget(seconds=5.0, relative_interval=0.0)


def training(workers: int, load_seconds: float, step_seconds: float) -> ImaginedWorkers:
    return ImaginedWorkers(settings_of(workers), making=load_seconds, step=step_seconds)


def settings_of(workers: int) -> Settings:
    return Settings(batch_size=8, num_workers=workers, prefetch_factor=AHEAD)


class Signs(SilentChannel):
    """Notes how long nobody heard of the trial while it is timed."""

    def __init__(self, trained: ImaginedWorkers) -> None:
        super().__init__()
        self._trained, self._heard, self.longest_silence = trained, trained.now, 0.0

    def phase(self, name: str) -> None:
        super().phase(name)
        self._heard, self.longest_silence = self._trained.now, 0.0

    def step(self, *told: Any, **more: Any) -> None:
        now = self._trained.now
        self._heard, self.longest_silence = now, max(self.longest_silence, now - self._heard)


def measure(trained: ImaginedWorkers, workers: int, channel: SilentChannel) -> FlowTiming:
    pace, waits = pace_of(settings_of(workers)), Stopwatch(trained.clock)
    step = trained.step_timed_by(waits)
    timer = FlowTimer(
        step,
        trained,
        waits,
        pace,
        trained,  # type: ignore[arg-type]
        channel,
        clock=trained.clock,
        ready=trained.ready,
        skip=trained.take,
    )
    return timer.run(ALL_ITS_TIME)


@pytest.mark.parametrize(("workers", "step_seconds"), [(2, 1.0), (4, 0.5), (8, 2.5), (16, 1.0), (16, 2.5)])
def test_slow_steps_that_wait_for_nothing_make_enough_blocks_to_become_steady(
    workers: int, step_seconds: float
) -> None:
    trained = training(workers, load_seconds=0.5 * workers * step_seconds, step_seconds=step_seconds)
    told = measure(trained, workers, Signs(trained))
    seconds, interval = sustained_seconds(told.counted)
    assert told.timing.steady_from is not None
    assert relative_half_width(seconds, interval) < 0.01


@pytest.mark.parametrize("workers", [4, 8, 16])
@pytest.mark.parametrize("slower", [1.05, 1.3, 2.0])
def test_slow_steps_that_wait_are_timed_in_whole_turns_which_know_all_of_the_wait(workers: int, slower: float) -> None:
    trained = training(workers, load_seconds=slower * workers, step_seconds=1.0)
    told = measure(trained, workers, Signs(trained))
    assert {block.steps for block in told.timing.blocks} == {workers}
    assert sustained_seconds(told.counted)[0] == pytest.approx(slower)


@pytest.mark.parametrize("load_seconds", [1.0, 42.0])
def test_a_turn_of_slow_steps_is_not_silent(load_seconds: float) -> None:
    trained = training(16, load_seconds, step_seconds=2.5)
    signs = Signs(trained)
    measure(trained, 16, signs)
    assert signs.longest_silence < 10.0


def test_a_block_whose_quick_steps_become_slow_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times slower: all of its steps together take four minutes."""
    trained, steps = training(2, load_seconds=1e-5, step_seconds=2e-5), itertools.count()
    signs, compute = Signs(trained), trained.compute

    def tiring() -> None:
        for _ in range(1 if next(steps) < 30_000 else 1000):
            compute()

    monkeypatch.setattr(trained, "compute", tiring)
    measure(trained, 2, signs)
    assert next(steps) > 30_000
    assert signs.longest_silence < 20.0


def test_neither_are_the_turns_of_its_anatomy(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, instruments, waits = training(16, 42.0, step_seconds=2.5), Instruments(), MarkedWaits()
    monkeypatch.setattr(waits, "_clock", trained.clock)
    signs, step = Signs(trained), trained.step_timed_by(waits)

    def instrumented() -> None:
        instruments.mark("forward")
        step()

    pace = pace_of(settings_of(16))
    turns = Turns(step, instrumented, instruments, trained, waits, pace, trained, signs)  # type: ignore[arg-type]
    monkeypatch.setattr(turns, "_clock", trained.clock)
    told = turns.run(ALL_ITS_TIME)
    assert {block.steps for block in told.timing.blocks} == {16}
    assert signs.longest_silence < 10.0


class Clocks:
    """A step of so many seconds, of which the process computes a tenth."""

    def __init__(self, step_seconds: float) -> None:
        self._step_seconds, self.steps = step_seconds, 0

    def step(self) -> None:
        self.steps += 1

    def monotonic(self) -> float:
        return self.steps * self._step_seconds

    def process_time(self) -> float:
        return self.steps * self._step_seconds / 10


@pytest.mark.parametrize(("step_seconds", "steps"), [(0.01, 7), (0.3, 4), (0.66, 3), (5.0, 3)])
def test_a_probe_makes_fewer_slow_steps_for_what_they_take_of_the_cpu(
    step_seconds: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks(step_seconds)
    monkeypatch.setattr(probe, "time", clocks)
    assert probe._step_cpu_seconds(clocks.step, CpuDevice()) == pytest.approx(step_seconds / 10)
    assert clocks.steps == steps
