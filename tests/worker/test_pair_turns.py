"""Taking turns, against a clock that the test controls."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.flow_pace import LEAST_BLOCKS
from traindyno.core.records import Block, Budget, Memory
from traindyno.worker.pairing.messages import Turn
from traindyno.worker.pairing.turns import Turns, judged, take_turns

StepSeconds = Callable[[float, int], float]


class Arms:
    """A clock that only blocks move; how long a step takes may depend on the time and on the number of the block."""

    def __init__(self, baseline: StepSeconds, candidate: StepSeconds) -> None:
        self.now = 0.0
        self.order = ""
        self._baseline, self._candidate = baseline, candidate

    def clock(self) -> float:
        return self.now

    def baseline(self) -> Turn:
        return self._measure("A", self._baseline)

    def candidate(self) -> Turn:
        return self._measure("B", self._candidate)

    def _measure(self, name: str, step_seconds: StepSeconds) -> Turn:
        seconds = step_seconds(self.now, self.order.count(name))
        self.order += name
        self.now += 10 * seconds
        return turn(seconds)


def turn(step_seconds: float) -> Turn:
    return Turn(block=Block(steps=10, seconds=10 * step_seconds), memory=Memory(peak_bytes=1))


def take(arms: Arms, seconds: float | None = 10.0, relative_interval: float = 0.01) -> Turns:
    budget = Budget(seconds=seconds, relative_interval=relative_interval)
    return take_turns(arms.baseline, arms.candidate, budget, arms.clock)


def test_the_ratio_of_constant_steps_is_exact_after_the_fewest_turns() -> None:
    turns = take(Arms(lambda now, number: 0.02, lambda now, number: 0.01))
    assert turns.ratio == (pytest.approx(2.0), (pytest.approx(2.0), pytest.approx(2.0)))
    assert len(turns.taken) == LEAST_BLOCKS


def test_the_order_is_balanced() -> None:
    arms = Arms(lambda now, number: 0.02, lambda now, number: 0.01)
    take(arms)
    assert arms.order == "ABBA" * (LEAST_BLOCKS // 2)


def test_a_drift_of_the_machine_leaves_the_ratio_as_it_is() -> None:
    """Always A before B would make B look slower by a block's share of the drift, however long one measures."""
    drift, block_seconds = 0.002, 0.1
    arms = Arms(lambda now, number: 0.01 * (1 + drift * now), lambda now, number: 0.01 * (1 + drift * now))
    turns = take(arms, relative_interval=0.0)
    assert turns.ratio[0] == pytest.approx(1.0, abs=drift * block_seconds / 20)
    low, high = turns.ratio[1]
    assert low <= 1.0 <= high


@pytest.mark.parametrize("slow_side", ["baseline", "candidate"])
def test_turns_before_either_arm_is_steady_do_not_count(slow_side: str) -> None:
    def slow(now: float, number: int) -> float:
        return 0.05 if number < 5 else 0.01

    def steady(now: float, number: int) -> float:
        return 0.01

    arms = Arms(slow, steady) if slow_side == "baseline" else Arms(steady, slow)
    turns = take(arms)
    assert turns.steady_from == 5
    assert len(turns.counted) >= LEAST_BLOCKS
    assert turns.ratio[0] == pytest.approx(1.0)


def test_a_ratio_that_is_precise_for_the_first_time_may_be_so_by_chance_and_another_turn_is_taken() -> None:
    disturbed = [0.01, 0.0102, 0.01, 0.0098, *[0.01] * 40]
    turns = take(Arms(lambda now, number: 0.01, lambda now, number: disturbed[number]), relative_interval=0.001)
    taken = len(turns.taken)
    assert judged(turns.taken[: taken - 1]).precise(0.001)
    assert not judged(turns.taken[: taken - 2]).precise(0.001)


def test_at_least_twice_as_many_turns_count_as_were_discarded() -> None:
    turns = take(Arms(lambda now, number: 0.05 if number < 6 else 0.01, lambda now, number: 0.01), seconds=20.0)
    assert turns.steady_from == 6
    assert len(turns.counted) >= 12


def test_an_arm_that_gets_ever_slower_is_not_steady_and_the_pair_ends_in_time() -> None:
    arms = Arms(lambda now, number: 0.01, lambda now, number: 0.01 * 1.05**number)
    turns = take(arms, seconds=5.0)
    assert turns.steady_from is None
    assert turns.steady_from_each[0] is not None
    assert turns.steady_from_each[1] is None
    assert abs(len(turns.counted) - len(turns.taken) / 2) <= 1
    assert arms.now < 5.0 * 3 + 5


def test_blocks_that_are_slow_get_overtime_but_not_for_ever() -> None:
    arms = Arms(lambda now, number: 0.15, lambda now, number: 0.15)
    assert len(take(arms, seconds=10.0).taken) == LEAST_BLOCKS
    slower = Arms(lambda now, number: 10.0, lambda now, number: 10.0)
    turns = take(slower, seconds=10.0)
    assert len(turns.taken) == 1
    assert turns.ratio[0] == pytest.approx(1.0)
    assert turns.ratio[1] == (0.0, math.inf)


@pytest.mark.parametrize(("step_seconds", "taken", "counted"), [(0.16, 5, 4), (0.25, 3, 2), (0.5, 2, 2)])
def test_turns_of_slow_steps_that_agree_are_steady_and_count_in_either_order(
    step_seconds: float, taken: int, counted: int
) -> None:
    """Blocks of ten steps, in the fifteen seconds that a trial of five may take."""
    slower_second = Arms(lambda now, number: step_seconds, lambda now, number: step_seconds * 1.001)
    turns = take(slower_second, seconds=5.0)
    assert (len(turns.taken), len(turns.counted)) == (taken, counted)
    assert (turns.steady_from is not None) == (taken >= 3)
    assert math.isfinite(turns.ratio[1][1])


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3)), min_size=1, max_size=30),
)
def test_exchanging_the_sides_turns_the_ratio_upside_down(seconds: list[tuple[float, float]]) -> None:
    there = judged([(turn(a), turn(b)) for a, b in seconds])
    back = judged([(turn(b), turn(a)) for a, b in seconds])
    assert there.ratio[0] * back.ratio[0] == pytest.approx(1.0)
    low, high = there.ratio[1]
    assert low <= there.ratio[0] * (1 + 1e-9)
    assert there.ratio[0] <= high * (1 + 1e-9)
    if low > 0:
        assert back.ratio[1] == (pytest.approx(1 / high), pytest.approx(1 / low))
