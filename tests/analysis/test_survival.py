"""Times to an event that some never have: medians, intervals, and the log-rank test against scipy's and by hand."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, logrank

from traindyno.analysis import survival
from traindyno.analysis.survival import (
    compare_times,
    fewest_seeds,
    holm,
    median_time,
    median_time_interval,
    needed_seeds,
    reached_share,
)

NEVER = math.inf
TIMES = st.lists(st.one_of(st.integers(1, 30).map(float), st.just(NEVER)), min_size=2, max_size=6)


def test_a_median_is_infinite_as_soon_as_half_of_the_runs_missed() -> None:
    assert median_time([1.0, 2.0, NEVER]) == 2.0
    assert median_time([1.0, 2.0, NEVER, NEVER]) == NEVER


def test_the_interval_of_six_is_all_of_them_and_may_reach_infinity() -> None:
    assert median_time_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) == (1.0, 6.0)
    assert median_time_interval([3.0, 1.0, 2.0, 4.0, 5.0, NEVER]) == (1.0, NEVER)


def test_five_times_cannot_promise_an_interval() -> None:
    assert median_time_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    chance = random.Random(1)
    held = 0
    for _ in range(2000):
        times = [chance.expovariate(1) for _ in range(9)]
        low, high = median_time_interval(times) or (0, 0)
        held += low <= math.log(2) <= high
    assert held / 2000 > 0.94


@pytest.mark.parametrize(("seeds", "p_value"), [(2, 2 / 6), (3, 2 / 20), (4, 2 / 70), (6, 2 / 924)])
def test_a_complete_separation_is_as_rare_as_the_ways_to_deal_it(seeds: int, p_value: float) -> None:
    found = compare_times([float(time) for time in range(seeds)], [float(100 + time) for time in range(seeds)])
    assert found.sooner
    assert found.p_value == pytest.approx(p_value)


@given(TIMES, TIMES)
def test_two_sets_differ_as_much_as_the_other_way_round(first: list[float], second: list[float]) -> None:
    one, other = compare_times(first, second), compare_times(second, first)
    assert one.p_value == pytest.approx(other.p_value)
    assert 0 < one.p_value <= 1
    assert not (one.sooner and other.sooner)


@given(TIMES)
def test_a_set_does_not_differ_from_itself(times: list[float]) -> None:
    assert compare_times(times, times).p_value == pytest.approx(1.0)


def test_many_runs_are_tested_about_as_scipy_does_with_misses_observed_to_the_end() -> None:
    chance = random.Random(2)
    first = [chance.expovariate(1) for _ in range(38)] + [NEVER] * 2
    second = [chance.expovariate(0.6) for _ in range(36)] + [NEVER] * 4
    expected = logrank(CensoredData(first[:38], right=[1e9] * 2), CensoredData(second[:36], right=[1e9] * 4)).pvalue
    assert compare_times(first, second).p_value == pytest.approx(expected, rel=0.15)


def test_drawn_ways_to_deal_give_what_all_of_them_give(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [1.0, 2.0, 4.0, 7.0, 8.0, NEVER], [3.0, 5.0, 6.0, 9.0, 10.0, 11.0]
    exact = compare_times(first, second).p_value
    monkeypatch.setattr("traindyno.analysis.survival._MOST_WAYS", 900)
    survival._ways_to_deal.cache_clear()
    drawn = compare_times(first, second).p_value
    survival._ways_to_deal.cache_clear()
    assert drawn == pytest.approx(exact, abs=0.05)
    assert drawn != exact


def test_ten_equal_runs_are_called_different_no_more_often_than_the_level() -> None:
    """The large-sample test would call them so in 6 to 7 of 100."""
    chance = random.Random(5)
    called = sum(
        compare_times([chance.random() for _ in range(10)], [chance.random() for _ in range(10)]).p_value < 0.05
        for _ in range(400)
    )
    assert called / 400 <= 0.055


def test_what_is_looked_at_among_more_tests_is_corrected_for_all_of_them() -> None:
    assert holm([0.01, 0.004], tests=10) == pytest.approx([0.09, 0.04])


def test_the_exact_test_is_near_the_approximate_one_where_both_can_be_made() -> None:
    chance = random.Random(3)
    first, second = ([chance.expovariate(rate) for _ in range(9)] for rate in (1, 0.5))
    approximate = logrank(CensoredData(first), CensoredData(second)).pvalue
    assert compare_times(first, second).p_value == pytest.approx(approximate, abs=0.05)


def test_equal_sets_are_called_different_no_more_often_than_the_level() -> None:
    chance = random.Random(4)
    called = sum(
        compare_times([chance.random() for _ in range(5)], [chance.random() for _ in range(5)]).p_value < 0.05
        for _ in range(400)
    )
    assert called / 400 < 0.08


def test_missing_often_is_not_made_good_by_being_fast_now_and_then() -> None:
    often_missing, steady = [1.0, 1.0, NEVER, NEVER, NEVER, NEVER], [2.0] * 6
    found = compare_times(often_missing, steady)
    assert not found.sooner


def test_nobody_arriving_is_no_difference() -> None:
    assert compare_times([NEVER] * 3, [NEVER] * 3).p_value == 1.0


def test_holm_multiplies_the_smallest_by_all_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_so_many_seeds_are_needed_for_even_the_clearest_difference() -> None:
    assert fewest_seeds(1) == 4
    assert fewest_seeds(2) == 5
    assert needed_seeds([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 1) == 4


def test_a_difference_that_is_none_has_no_number_of_seeds() -> None:
    assert needed_seeds([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], 1) is None


def test_a_smaller_difference_needs_more_seeds() -> None:
    base = [10.0, 11.0, 12.0, 13.0, 14.0]
    nearer = needed_seeds(base, [12.5, 12.6, 13.5, 14.5, 15.5], 1)
    farther = needed_seeds(base, [13.5, 14.5, 15.5, 16.5, 17.5], 1)
    assert nearer is not None
    assert farther is not None
    assert nearer > farther > 5


def test_the_share_that_arrived_ends_below_one_where_runs_missed() -> None:
    steps = reached_share([2.0, NEVER, 1.0, NEVER])
    assert steps.at == (0.0, 1.0, 2.0)
    assert steps.share == (0.0, 0.25, 0.5)
