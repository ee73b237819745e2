"""Workers that are ahead of the step let a trial end sooner, and change nothing of what it tells."""

import msgspec
import pytest

from traindyno.analysis.flow_pace import BLOCK_SECONDS, Pace, pace_of
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.records import Budget, Settings
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from worker.counted_device import SilentChannel
from worker.imagined_workers import ImaginedWorkers, OnDevice

TRIAL_SECONDS = 3.0
DEVICES = pytest.mark.parametrize("device", [ImaginedWorkers, OnDevice])
LOADERS = pytest.mark.parametrize(("workers", "prefetch"), [(4, 2), (8, 4), (16, 2), (16, 8)])


def measured(line: ImaginedWorkers, pace: Pace) -> tuple[FlowTiming, float]:
    """What a trial tells, and how long it takes."""
    waits, began, channel = Stopwatch(line.clock), line.now, SilentChannel()
    timer = FlowTimer(
        line.step_timed_by(waits),
        line,
        waits,
        pace,
        line,  # type: ignore[arg-type]
        channel,
        clock=line.clock,
        ready=line.ready,
        skip=line.take,
    )
    told = timer.run(Budget(seconds=TRIAL_SECONDS, relative_interval=0.0))
    return told, line.now - began


def not_looking(settings: Settings) -> Pace:
    return msgspec.structs.replace(pace_of(settings), lead=None)


def both(
    workers: int,
    prefetch: int,
    load: float,
    step: float,
    late: float = 0.0,
    uneven: float = 0.0,
    first: float = 0.0,
    device: type[ImaginedWorkers] = ImaginedWorkers,
) -> tuple[float, float, float, float]:
    """Seconds per step and of the trial, where a lead is looked for, and where it is not.

    `load` is what all workers together take for a batch, as a share of the step.
    """
    settings, making = Settings(batch_size=8, num_workers=workers, prefetch_factor=prefetch), load * step * workers
    lines = [device(settings, making, step, late * making, uneven, first=first) for _ in range(2)]
    asked, seconds = measured(lines[0], pace_of(settings))
    plain, usual = measured(lines[1], not_looking(settings))
    return sustained_seconds(asked.counted)[0], seconds, sustained_seconds(plain.counted)[0], usual


@DEVICES
@LOADERS
@pytest.mark.parametrize("step", [0.01, 0.1, 0.6, 2.0])
@pytest.mark.parametrize("late", [0.0, 3.0])
@pytest.mark.parametrize("uneven", [0.0, 0.3])
def test_it_tells_the_same_whether_workers_are_asked_or_not(
    device: type[ImaginedWorkers], step: float, workers: int, prefetch: int, late: float, uneven: float
) -> None:
    for load in (0.1, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 3.0):
        asked, seconds, plain, usual = both(workers, prefetch, load, step, late, uneven, device=device)
        assert asked == pytest.approx(plain, rel=0.05 if uneven else 1e-6)
        assert seconds <= usual + BLOCK_SECONDS


@DEVICES
@LOADERS
@pytest.mark.parametrize("step", [0.02, 0.1, 0.4, 1.0])
@pytest.mark.parametrize("first", [1.0, 5.0, 30.0])
def test_what_workers_make_during_a_slow_first_step_is_not_taken_for_what_they_make_in_any(
    device: type[ImaginedWorkers], workers: int, prefetch: int, step: float, first: float
) -> None:
    for load in (0.1, 0.5, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0):
        asked, _, plain, _ = both(workers, prefetch, load, step, first=first, device=device)
        assert asked == pytest.approx(step * max(1.0, load))
        assert plain == pytest.approx(step * max(1.0, load))


@pytest.mark.parametrize(("workers", "step", "share"), [(4, 0.66, 0.6), (16, 0.66, 0.45), (16, 2.0, 0.45)])
def test_a_slow_step_with_quick_workers_is_told_in_half_of_the_time(workers: int, step: float, share: float) -> None:
    asked, seconds, _, usual = both(workers, 2, 0.1, step)
    assert asked == pytest.approx(step)
    assert seconds < share * usual


def test_it_is_steady_by_blocks_of_single_steps() -> None:
    """Whole turns of workers were too long for a trial to have enough of them."""
    settings = Settings(batch_size=8, num_workers=8)
    lines = [ImaginedWorkers(settings, making=0.2, step=0.6) for _ in range(2)]
    asked, plain = measured(lines[0], pace_of(settings))[0], measured(lines[1], not_looking(settings))[0]
    assert asked.timing.steady_from is not None
    assert plain.timing.steady_from is None
    assert {block.steps for block in asked.timing.blocks} == {1}


def test_batches_that_are_waited_for_a_little_do_not_count_as_ready() -> None:
    """Their way from the worker takes a tenth of the step, and the step waits for it each time."""
    settings = Settings(batch_size=8, num_workers=8)
    line = ImaginedWorkers(settings, making=0.01, step=0.09, way=0.01)
    told, _ = measured(line, pace_of(settings))
    assert {block.steps % 8 for block in told.timing.blocks} == {0}


class Tiring(ImaginedWorkers):
    """From some batch on they take far longer, which what they have ready hides for a while."""

    def _ask(self) -> None:
        self.making = 4.0 if self.asked > 24 else 0.2
        super()._ask()


def test_a_trial_does_not_end_while_what_was_ready_is_used_up() -> None:
    """By then workers need half a second for a batch, and it sees them wait."""
    settings = Settings(batch_size=8, num_workers=8)
    line = Tiring(settings, making=0.2, step=0.3)
    told, seconds = measured(line, pace_of(settings))
    assert seconds > 2 * TRIAL_SECONDS
    assert sustained_seconds(told.counted)[0] > 1.1 * 0.3


@pytest.mark.parametrize(
    ("workers", "prefetch", "lead"), [(2, 2, None), (4, 1, None), (4, 2, 4), (16, 2, 16), (8, 4, 24)]
)
def test_workers_that_wait_have_one_batch_each_at_least(workers: int, prefetch: int, lead: int | None) -> None:
    assert pace_of(Settings(batch_size=8, num_workers=workers, prefetch_factor=prefetch)).lead == lead
