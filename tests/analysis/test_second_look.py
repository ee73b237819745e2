"""The step by itself, before its loader ran and after it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.second_look import Resident, has_drifted, resident_of_looks, slowest_look
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.records import Block

BEFORE = [Block(steps=2, seconds=seconds) for seconds in (0.198, 0.2, 0.202, 0.2)]


def looked(*seconds: float) -> Resident:
    """Blocks of one step each, after steps of 0.1 s."""
    return resident_of_looks(BEFORE, [Block(steps=1, seconds=each) for each in seconds])


def test_without_a_second_look_the_first_says_it() -> None:
    found = looked()
    assert (found.step_seconds, found.ci95) == sustained_seconds(BEFORE)
    assert found.drift is None


@pytest.mark.parametrize("later", [0.093, 0.1, 0.108])
def test_a_second_look_that_agrees_adds_nothing_but_its_ratio(later: float) -> None:
    found = looked(later, later)
    assert (found.step_seconds, found.ci95) == sustained_seconds(BEFORE)
    assert found.drift == pytest.approx(later / 0.1)
    assert not has_drifted(found.drift)


@pytest.mark.parametrize("later", [0.05, 0.25])
def test_of_two_speeds_the_step_is_between_them_and_its_interval_holds_both(later: float) -> None:
    found = looked(later, later, later)
    assert has_drifted(found.drift)
    assert found.step_seconds == pytest.approx(math.sqrt(0.1 * later))
    assert found.ci95[0] <= min(0.1, later) * (1 + 1e-9)
    assert found.ci95[1] >= max(0.1, later) * (1 - 1e-9)


@given(st.lists(st.floats(0.001, 10.0), min_size=1, max_size=5))
def test_the_step_lies_within_its_interval(after: list[float]) -> None:
    found = looked(*after)
    assert found.ci95[0] <= found.step_seconds <= found.ci95[1]


def test_what_the_first_look_s_own_blocks_differ_by_is_no_drift() -> None:
    noisy = [Block(steps=1, seconds=seconds) for seconds in (0.1, 0.14, 0.09, 0.13, 0.1, 0.08, 0.13, 0.09)]
    found = resident_of_looks(noisy, [Block(steps=1, seconds=0.14)] * 2)
    assert has_drifted(found.drift)
    assert (found.step_seconds, found.ci95) == sustained_seconds(noisy)
    assert resident_of_looks(noisy, [Block(steps=1, seconds=0.3)] * 2).step_seconds > 0.15


def test_all_steps_of_a_second_look_count_alike() -> None:
    found = resident_of_looks(BEFORE, [Block(steps=1, seconds=0.4), Block(steps=3, seconds=0.4)])
    assert found.drift == pytest.approx(2.0)


@pytest.mark.parametrize(("later", "slowest"), [(0.15, 0.15), (0.105, 0.1), (0.05, 0.1)])
def test_the_slower_look_is_known_again_from_what_both_were_made_into(later: float, slowest: float) -> None:
    found = looked(later, later)
    assert slowest_look(found.step_seconds, found.drift) == pytest.approx(slowest)


def test_without_a_second_look_the_first_is_the_slowest() -> None:
    assert slowest_look(0.1, None) == 0.1
