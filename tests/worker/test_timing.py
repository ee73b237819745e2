"""The measuring loop against a clock that the test controls."""

from collections.abc import Callable

import pytest
import torch

from traindyno.analysis.flow_pace import LEAST_BLOCKS
from traindyno.worker.steps import NonfiniteLossError
from traindyno.worker.timing import BLOCK_SECONDS, time_block, time_steps
from worker.counted_device import SilentChannel


class Bench:
    """A clock that only steps move, and a device that notes when it is waited for."""

    torch_device = torch.device("cpu")

    def __init__(self, step_seconds: Callable[[int], float], loss: float = 1.0) -> None:
        self.now = 0.0
        self.steps = 0
        self.waits: list[int] = []
        self._step_seconds = step_seconds
        self._loss = loss

    def clock(self) -> float:
        return self.now

    def step(self) -> torch.Tensor:
        self.now += self._step_seconds(self.steps)
        self.steps += 1
        return torch.tensor(self._loss)

    def synchronize(self) -> None:
        self.waits.append(self.steps)

    def check_memory(self) -> None:
        pass


def measure(bench: Bench, seconds: float = 10.0):
    return time_steps(bench.step, bench, SilentChannel(), seconds, 0.01, bench.clock)  # type: ignore[arg-type]


def test_a_block_is_the_time_of_its_steps_and_the_device_is_waited_for_at_its_edges_only() -> None:
    bench = Bench(lambda _: 0.02)
    block, _ = time_block(bench.step, 5, bench, bench.clock)  # type: ignore[arg-type]
    assert (block.steps, block.seconds) == (5, pytest.approx(0.1))
    assert bench.waits == [0, 5]


class Signs(SilentChannel):
    """Notes how long nobody heard of the steps."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self._bench, self._heard, self.longest_silence = bench, 0.0, 0.0

    def step(self, *told: object, **more: object) -> None:
        now = self._bench.now
        self._heard, self.longest_silence = now, max(self.longest_silence, now - self._heard)


@pytest.mark.parametrize("slow_from", [2_000, 10_000, 40_000])
def test_a_machine_that_becomes_a_thousand_times_slower_in_mid_block_is_not_taken_for_a_hang(slow_from: int) -> None:
    bench = Bench(lambda step: 2e-5 if step < slow_from else 0.02)
    signs = Signs(bench)
    time_steps(bench.step, bench, signs, 10.0, 0.01, bench.clock)  # type: ignore[arg-type]
    assert bench.steps > slow_from
    assert signs.longest_silence < 6


def test_a_block_that_takes_as_long_as_was_thought_is_told_of_at_its_end_alone() -> None:
    bench, told = Bench(lambda _: 0.02), []
    time_block(bench.step, 40, bench, bench.clock, lambda: told.append(bench.steps))  # type: ignore[arg-type]
    assert told == []


def test_quick_steps_are_timed_in_blocks_of_a_tenth_of_a_second() -> None:
    timing = measure(Bench(lambda _: 0.001))
    assert {block.steps for block in timing.blocks} == {round(BLOCK_SECONDS / 0.001)}


def test_a_constant_step_is_steady_at_once_and_measured_exactly() -> None:
    timing = measure(Bench(lambda _: 0.02))
    assert timing.steady_from == 0
    assert len(timing.counted) == LEAST_BLOCKS
    assert all(block.seconds / block.steps == pytest.approx(0.02) for block in timing.counted)


def test_a_slow_beginning_is_discarded() -> None:
    timing = measure(Bench(lambda step: 0.03 if step < 20 else 0.02))
    assert timing.steady_from is not None
    assert timing.steady_from > 0
    assert all(block.seconds / block.steps == pytest.approx(0.02) for block in timing.counted)


def test_the_first_step_is_told_apart() -> None:
    timing = measure(Bench(lambda step: 3.0 if step == 0 else 0.02))
    assert timing.first_step_seconds == pytest.approx(3.0)
    assert all(block.seconds / block.steps == pytest.approx(0.02) for block in timing.blocks)


def test_a_step_that_gets_ever_slower_is_not_called_steady_and_the_trial_ends_in_time() -> None:
    bench = Bench(lambda step: 0.02 * 1.01**step)
    timing = measure(bench, seconds=5.0)
    assert timing.steady_from is None
    assert bench.now < 5.0 * 3 + 5


def test_slow_steps_get_overtime_so_that_steadiness_can_be_told() -> None:
    timing = measure(Bench(lambda _: 1.0), seconds=3.0)
    assert len(timing.blocks) == LEAST_BLOCKS
    assert timing.steady_from == 0


def test_very_slow_steps_end_with_what_there_is() -> None:
    bench = Bench(lambda _: 10.0)
    timing = measure(bench, seconds=3.0)
    assert 1 <= len(timing.blocks) <= 2
    assert timing.steady_from is None


def test_a_loss_that_is_not_finite_ends_the_trial() -> None:
    with pytest.raises(NonfiniteLossError):
        measure(Bench(lambda _: 0.02, loss=float("inf")))


def test_a_slow_second_step_does_not_make_the_blocks_too_short() -> None:
    timing = measure(Bench(lambda step: 0.5 if step == 1 else 0.001))
    assert min(block.steps for block in timing.blocks) >= 0.5 * BLOCK_SECONDS / 0.001


def test_slow_steps_of_whatever_number_do_not_make_the_blocks_too_short() -> None:
    for slow in range(1, 8):
        timing = measure(Bench(lambda step, slow=slow: 3.0 if step < slow else 0.01))  # type: ignore[misc]
        assert {block.steps for block in timing.blocks} == {round(BLOCK_SECONDS / 0.01)}


@pytest.mark.parametrize("slow", [1, 2, 3, 7])
def test_every_step_is_the_first_or_of_the_warm_up_or_of_a_block(slow: int) -> None:
    bench = Bench(lambda step: 3.0 if step < slow else 0.01)
    timing = measure(bench)
    assert 1 + sum(block.steps for block in timing.after_first_step) == bench.steps
    assert timing.first_step_seconds + sum(block.seconds for block in timing.after_first_step) == pytest.approx(
        bench.now
    )
    assert sum(block.seconds for block in timing.discarded) >= 3.0 * (slow - 1)


def test_a_machine_that_gets_faster_at_the_very_end_of_its_time_still_ends() -> None:
    bench = Bench(lambda step: 0.2 if step < 30 else 0.01)
    timing = measure(bench, seconds=6.0)
    assert len(timing.blocks) >= 1
    assert bench.now < 3 * 6.0
