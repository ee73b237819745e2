"""The exact test as anyone can count it by hand, and what it does where values are equal or too many."""

import math
import sys
from itertools import combinations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from traindyno.analysis.rounds.permutation import (
    EXACT,
    WELCH,
    exact_probability,
    gain_interval,
    probability_of_gain,
)
from traindyno.analysis.row_comparisons import Sample
from traindyno.core.proof_levels import smallest_probability

PARTS = st.lists(st.integers(0, 30), min_size=2, max_size=5)


def sample(*values: float, parts: int | None = None) -> Sample:
    return Sample(label="any", values=values, parts=parts)


def test_of_six_ways_to_deal_two_and_two_only_one_puts_the_better_ones_ahead() -> None:
    assert exact_probability([1.0, 2.0], [3.0, 4.0]) == pytest.approx(1 / 6)
    assert exact_probability([1.0, 3.0], [2.0, 4.0]) == pytest.approx(2 / 6)
    assert exact_probability([3.0, 4.0], [1.0, 2.0]) == 1.0


def test_ties_count_against_the_candidate() -> None:
    assert exact_probability([0.9, 0.9], [0.9, 0.9]) == 1.0
    assert exact_probability([1.0, 2.0], [2.0, 3.0]) == pytest.approx(2 / 6)


@given(lower=PARTS, higher=PARTS)
def test_it_is_the_share_that_counting_whole_numbers_gives(lower: list[int], higher: list[int]) -> None:
    pooled = [*higher, *lower]
    sums = [sum(chosen) for chosen in combinations(pooled, len(higher))]
    expected = sum(total >= sum(higher) for total in sums) / len(sums)
    as_accuracies = exact_probability([(330 + part) / 360 for part in lower], [(330 + part) / 360 for part in higher])
    assert as_accuracies == pytest.approx(expected)


def test_it_agrees_with_scipy_where_nothing_ties() -> None:
    generator = numpy.random.default_rng(3)
    lower, higher = generator.normal(size=5), generator.normal(0.5, size=6)
    expected = stats.permutation_test(
        (higher, lower),
        lambda one, two, axis: one.mean(axis=axis) - two.mean(axis=axis),
        vectorized=True,
        n_resamples=numpy.inf,
        alternative="greater",
    )
    assert exact_probability(tuple(lower), tuple(higher)) == pytest.approx(expected.pvalue)


def test_the_clearest_case_of_six_and_six_has_one_way_in_924() -> None:
    p_value, test = probability_of_gain(sample(*range(6)), sample(*range(6, 12)))
    assert test == EXACT
    assert p_value == pytest.approx(1 / 924) == smallest_probability(6)


def test_more_ways_than_can_be_counted_are_left_to_welch() -> None:
    generator = numpy.random.default_rng(5)
    lower, higher = sample(*generator.normal(size=14)), sample(*generator.normal(0.8, size=14))
    p_value, test = probability_of_gain(lower, higher)
    expected = stats.ttest_ind(higher.values, lower.values, equal_var=False, alternative="greater").pvalue
    assert test == WELCH
    assert p_value == pytest.approx(expected, rel=1e-6)


def test_a_probability_is_never_zero() -> None:
    far = [1e9 + 1e-3 * number for number in range(40)]
    p_value, _ = probability_of_gain(sample(*(value - 1e9 for value in far)), sample(*far))
    assert p_value >= sys.float_info.min > 0


def test_scores_without_any_spread_have_an_interval_as_wide_as_they_are_precise() -> None:
    low, high = gain_interval(sample(*[0.95] * 6, parts=100), sample(*[0.96] * 6, parts=100), 0.025)
    assert low < 0.01 < high
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 10) * math.sqrt(2 / 6) / 200, rel=1e-6)


def test_the_interval_is_welch_s() -> None:
    lower, higher = (0.90, 0.92, 0.91, 0.93), (0.94, 0.99, 0.95, 0.96, 0.97)
    expected = stats.ttest_ind(higher, lower, equal_var=False).confidence_interval(0.95)
    assert gain_interval(sample(*lower), sample(*higher), 0.025) == pytest.approx((expected.low, expected.high))
