"""The measuring loop for batches that others make, against a clock that the test controls."""

import math

import msgspec
import pytest
import torch

from traindyno.analysis.flow_pace import Pace, pace_of
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from traindyno.worker.kinds.loads import budget_of
from worker.counted_device import SilentChannel

SPEC = TrialSpec(kind="feed", workload=WorkloadSpec(model=""), settings=Settings(batch_size=8))


class Line:
    """A clock that only taking batches moves, and a supply that notes what was asked of it."""

    torch_device = torch.device("cpu")

    def __init__(
        self, seconds: float = 0.1, ready: int = 0, in_pass: float = math.inf, pause: float = 0.0, slow: int = 0
    ) -> None:
        self.now = 0.0
        self.taken = self.taken_in_pass = self.renewals = 0
        self._seconds, self._ready, self._in_pass, self._pause, self._slow = seconds, ready, in_pass, pause, slow

    def clock(self) -> float:
        return self.now

    def step(self) -> None:
        """Batches that were ready before cost nothing; the first ones may be slow."""
        self.now += 0.0 if self.taken_in_pass < self._ready else self._seconds * (2 if self.taken < self._slow else 1)
        self.taken += 1
        self.taken_in_pass += 1

    def left(self) -> float:
        return self._in_pass - self.taken_in_pass

    def renew(self) -> None:
        self.now += 1000.0
        self.renewals += 1
        self.taken_in_pass = 0

    def synchronize(self) -> None: ...

    def check_memory(self) -> None:
        self.now += self._pause


def measure(line: Line, pace: Pace, seconds: float = 5.0, budget: Budget | None = None) -> FlowTiming:
    waits = Stopwatch(line.clock)
    step = waits.around(line.step)
    timer = FlowTimer(step, line, waits, pace, line, SilentChannel(), clock=line.clock)  # type: ignore[arg-type]
    return timer.run(budget or Budget(seconds=seconds))


class Queue(Line):
    """A GPU: a step loads its batch here, unless it is there already, and is queued; only waiting for it takes time."""

    def __init__(self, load_seconds: float, step_seconds: float) -> None:
        super().__init__()
        self._load_seconds, self._step_seconds = load_seconds, step_seconds
        self._done, self._loaded = 0.0, 0

    def load(self) -> None:
        self.now += self._load_seconds
        self._loaded += 1

    def ahead(self) -> None:
        if not self._loaded:
            self.load()

    def step(self) -> None:
        self.ahead()
        self._loaded -= 1
        self._done = max(self._done, self.now) + self._step_seconds

    def synchronize(self) -> None:
        self.now = max(self.now, self._done)


@pytest.mark.parametrize(
    ("load_seconds", "step_seconds"),
    [(0.32, 0.1), (0.1, 0.1), (0.1, 0.3), (0.06, 0.05), (0.03, 0.025), (0.012, 0.01), (0.001, 0.2)],
)
def test_what_this_process_loads_while_a_gpu_computes_is_not_added_to_the_step(
    load_seconds: float, step_seconds: float
) -> None:
    queue = Queue(load_seconds, step_seconds)
    pace, channel = pace_of(Settings(batch_size=8)), SilentChannel()
    timer = FlowTimer(queue.step, queue, Stopwatch(), pace, queue, channel, clock=queue.clock, ahead=queue.ahead)  # type: ignore[arg-type]
    told = timer.run(Budget(seconds=5.0, relative_interval=0.0))
    assert sustained_seconds(told.counted)[0] == pytest.approx(max(load_seconds, step_seconds))


class SlowAtFirst(Line):
    """Its first steps record graphs."""

    def step(self) -> None:
        super().step()
        self.now += 0.5 if self.taken <= 2 else 0.0


def test_slow_first_steps_do_not_make_blocks_too_short() -> None:
    told = measure(SlowAtFirst(seconds=0.005), pace_of(Settings(batch_size=8)))
    assert {block.steps for block in told.timing.blocks} == {50}
    assert sum(block.steps for block in told.timing.after_first_step) == 3 + 50 * len(told.timing.blocks)
    assert all(len(waits) == 50 for waits in told.waits)


def test_what_workers_had_ready_before_the_clock_started_does_not_count() -> None:
    line = Line(seconds=0.1, ready=16)
    told = measure(line, pace_of(Settings(batch_size=8, num_workers=4)))
    assert {round(block.seconds / block.steps, 9) for block in told.timing.blocks} == {0.1}


def test_blocks_are_whole_turns_of_the_workers() -> None:
    told = measure(Line(seconds=0.02), Pace(discarded=4, turn=5, measured=1))
    assert {block.steps for block in told.timing.blocks} == {10}


def test_slow_batches_are_timed_a_turn_at_a_time() -> None:
    told = measure(Line(seconds=3.0), Pace(discarded=4, turn=5, measured=1))
    assert {block.steps for block in told.timing.blocks} == {5}


@pytest.mark.parametrize(("workers", "prefetch", "discarded", "measured"), [(0, 2, 2, 3), (1, 2, 4, 6), (8, 4, 64, 96)])
def test_twice_what_may_be_ready_is_discarded_and_three_times_that_measured(
    workers: int, prefetch: int, discarded: int, measured: int
) -> None:
    pace = pace_of(Settings(batch_size=8, num_workers=workers, prefetch_factor=prefetch))
    assert (pace.discarded, pace.measured) == (discarded, measured)
    assert pace.turn == max(1, workers)


@pytest.mark.parametrize(("seconds", "steps"), [(0.125, 4 + 12), (0.5, 4 + 3), (3.0, 4 + 1)])
def test_what_takes_time_to_settle_is_given_it_whatever_a_step_takes(seconds: float, steps: int) -> None:
    told = measure(Line(seconds=seconds), Pace(discarded=4, turn=1, measured=1, settling_seconds=1.5))
    assert told.timing.warm_up is not None
    assert told.timing.warm_up.steps == steps


def test_a_host_that_runs_ahead_does_not_queue_steps_for_long_to_settle() -> None:
    """A batch is there every hundredth of a second, and the device takes half a second for it."""
    queue, channel = Queue(load_seconds=0.01, step_seconds=0.5), SilentChannel()
    pace = Pace(discarded=4, turn=1, measured=1, settling_seconds=1.5)
    told = FlowTimer(queue.step, queue, Stopwatch(), pace, queue, channel, clock=queue.clock).run(Budget(seconds=5.0))  # type: ignore[arg-type]
    assert told.timing.warm_up.steps == 4 + 3


def test_a_pass_is_not_used_up_to_settle() -> None:
    line = Line(seconds=0.01, in_pass=20)
    told = measure(line, Pace(discarded=4, turn=2, measured=4, settling_seconds=1.5))
    assert told.timing.blocks


def test_only_a_gpu_that_decodes_is_given_time_to_settle() -> None:
    assert pace_of(Settings(batch_size=8, decoder="pil")).settling_seconds == 0.0
    assert pace_of(Settings(batch_size=8, decoder="nvjpeg")).settling_seconds > 0.0


def test_so_many_batches_are_measured_beside_those_that_do_not_count() -> None:
    told = measure(Line(seconds=1.0, slow=22), Pace(discarded=2, turn=2, measured=30), seconds=1000.0)
    assert told.timing.steady_from is not None
    assert told.timing.steady_from > 0
    assert sum(block.steps for block in told.timing.counted) >= 30


def test_so_many_batches_may_take_overtime_but_not_for_ever() -> None:
    told = measure(Line(seconds=1.0), Pace(discarded=2, turn=2, measured=24), seconds=10.0)
    assert sum(block.steps for block in told.timing.counted) >= 24
    endless = Line(seconds=1.0)
    measure(endless, Pace(discarded=2, turn=2, measured=10_000), seconds=10.0)
    assert endless.now < 40


def test_a_pause_between_two_blocks_belongs_to_the_next_because_workers_use_it() -> None:
    line = Line(seconds=0.1, pause=0.05)
    told = measure(line, Pace(discarded=2, turn=1, measured=1))
    first, *others = told.timing.blocks
    assert first.seconds == pytest.approx(0.1 * first.steps)
    assert all(block.seconds == pytest.approx(0.1 * block.steps + 0.05) for block in others)


def test_a_pass_of_cold_data_is_begun_anew_before_it_ends_and_that_is_in_no_block() -> None:
    line = Line(seconds=0.1, in_pass=20)
    told = measure(line, pace_of(Settings(batch_size=8, num_workers=2)))
    assert line.renewals > 0
    assert all(block.seconds == pytest.approx(0.1 * block.steps) for block in told.timing.blocks)


def test_blocks_of_a_short_pass_are_whole_turns_too() -> None:
    told = measure(Line(seconds=0.02, in_pass=12), Pace(discarded=4, turn=5, measured=1))
    assert {block.steps for block in told.timing.blocks} == {5}


class Late(Line):
    """Every 125th batch is late by as much as twelve and a half take."""

    def step(self) -> None:
        super().step()
        self.now += 0.125 if self.taken % 125 == 40 else 0.0


def test_late_batches_count_wherever_they_come_in_a_trial_that_takes_all_its_time() -> None:
    """One block in five holds one: all of the time is a tenth longer, and no block is left out for being slow."""
    told = measure(Late(seconds=0.01), Pace(discarded=14, turn=1, measured=1), budget=budget_of(SPEC))
    assert len(told.timing.blocks) >= 15
    assert len(told.counted) == len(told.timing.blocks) - len(told.timing.blocks) // 5
    assert sustained_seconds(told.counted)[0] == pytest.approx(0.011, rel=0.02)
    assert sum(map(sum, told.waits)) == pytest.approx(sum(block.seconds for block in told.counted))


def test_cached_batches_do_not_come_late_and_may_end_the_trial_early() -> None:
    assert budget_of(msgspec.structs.replace(SPEC, feed=Feed(supply="cached"))) == SPEC.budget


def test_the_waits_of_the_counted_blocks_are_kept() -> None:
    told = measure(Line(seconds=0.1), Pace(discarded=2, turn=2, measured=1))
    assert len(told.waits) == len(told.counted)
    assert all(wait == pytest.approx(0.1) for waits in told.waits for wait in waits)
