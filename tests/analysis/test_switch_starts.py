"""What a switch takes longer to start, and when that has paid back."""

import pytest

from search.fake_switches import arm
from traindyno.analysis.switch_starts import baseline_start, pays_back_after, warm_up_again, warm_up_seconds
from traindyno.core.records import Arm, Pair


def pair(baseline: Arm, candidate: Arm) -> Pair:
    return Pair(baseline=baseline, candidate=candidate, turns=(), ratio=1.0, ci95=(0.9, 1.1))


def test_a_longer_start_pays_back_after_as_many_steps_as_gain_it() -> None:
    compiled = pair(arm(0.1), arm(0.06, 20.06))
    start = baseline_start([compiled], compiles=False)
    assert warm_up_seconds(compiled, start, first=True) == pytest.approx(20.0)
    assert pays_back_after([compiled], start) == pytest.approx(500, abs=1)


def test_what_starts_no_later_takes_no_longer_and_what_gains_nothing_never_pays_back() -> None:
    slower = pair(arm(0.1, 5.0), arm(0.2))
    start = baseline_start([slower], compiles=False)
    assert warm_up_seconds(slower, start, first=True) == 0.0
    assert pays_back_after([slower], start) is None


def test_a_start_within_the_scatter_of_the_baseline_s_own_counts_as_none() -> None:
    calm = [pair(arm(0.1, 0.1), arm(0.1, 0.1)) for _ in range(4)]
    disturbed = [pair(arm(0.1, 4.0), arm(0.1, 3.0))]
    start = baseline_start([*calm, *disturbed], compiles=False)
    assert warm_up_seconds(disturbed[0], start, first=True) == 0.0
    assert warm_up_seconds(pair(arm(0.1, 0.1), arm(0.1, 30.1)), start, first=True) == pytest.approx(30.0)


def test_a_compiled_baseline_is_held_at_its_first_start_against_a_first_and_at_a_later_one_against_a_later() -> None:
    pairs = [pair(arm(0.1, 30.1), arm(0.1, 40.1)), pair(arm(0.1, 2.1), arm(0.1, 3.1)), pair(arm(0.1, 2.1), arm(0.1))]
    start = baseline_start(pairs, compiles=True)
    assert warm_up_seconds(pairs[0], start, first=True) == pytest.approx(10.0)
    assert warm_up_seconds(pairs[1], start, first=False) == pytest.approx(1.0)


@pytest.mark.parametrize(("later", "compiles", "told"), [(2.5, True, 2.4), (38.0, True, None), (38.0, False, 37.9)])
def test_a_second_start_that_compiled_anew_does_not_say_what_the_next_takes(
    later: float, compiles: bool, told: float | None
) -> None:
    pairs = [pair(arm(0.1, 0.1), arm(0.1, 40.0)), pair(arm(0.1, 0.1), arm(0.1, later))]
    start = baseline_start(pairs, compiles=False)
    assert warm_up_again(pairs, start, compiles=compiles) == (None if told is None else pytest.approx(told))
    assert warm_up_again(pairs[:1], start, compiles=compiles) is None
