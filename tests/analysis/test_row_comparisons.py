"""Rows against the first: Welch's test as others compute it, and what it could have shown."""

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from traindyno.analysis.row_comparisons import TOO_FEW, Sample, compare_rows, points
from traindyno.analysis.student import quantile, two_sided_probability

ACCURACIES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def sample(label: str, *values: float) -> Sample:
    return Sample(label=label, values=values)


@given(t=st.floats(-40, 40), degrees_of_freedom=st.floats(0.9, 500))
def test_the_t_distribution_is_the_one_that_others_have(t: float, degrees_of_freedom: float) -> None:
    expected = 2 * stats.t.sf(abs(t), degrees_of_freedom)
    assert two_sided_probability(t, degrees_of_freedom) == pytest.approx(expected, rel=1e-5, abs=1e-14)


@given(share=st.floats(0.51, 0.9995), degrees_of_freedom=st.floats(0.9, 500))
def test_its_quantiles_are_too(share: float, degrees_of_freedom: float) -> None:
    assert quantile(share, degrees_of_freedom) == pytest.approx(
        stats.t.ppf(share, degrees_of_freedom), rel=1e-6, abs=1e-8
    )


@given(first=ACCURACIES, second=ACCURACIES)
def test_a_single_comparison_is_welch_s_test(first: list[float], second: list[float]) -> None:
    assume(max(first) - min(first) > 1e-3 and max(second) - min(second) > 1e-3)
    (found,) = compare_rows(sample("a", *first), [sample("b", *second)])
    expected = stats.ttest_ind(second, first, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-5, abs=1e-12)
    assert found.ci95 == pytest.approx((interval.low, interval.high), rel=1e-5, abs=1e-9)
    assert found.difference == pytest.approx(sum(second) / len(second) - sum(first) / len(first))


@given(others=st.lists(ACCURACIES, min_size=2, max_size=6))
def test_several_comparisons_are_corrected_by_holm_s_method(others: list[list[float]]) -> None:
    first = sample("a", 0.5, 0.55, 0.6)
    alone = [compare_rows(first, [sample("b", *values)])[0].p_value for values in others]
    together = [found.p_value for found in compare_rows(first, [sample("b", *values) for values in others])]
    assume(None not in alone)
    ranked = sorted(range(len(others)), key=lambda index: alone[index] or 0.0)
    highest = 0.0
    for rank, index in enumerate(ranked):
        highest = max(highest, min(1.0, (len(others) - rank) * (alone[index] or 0.0)))
        assert together[index] == pytest.approx(highest)


def test_a_shown_difference_is_told_in_points_with_its_interval() -> None:
    lower = compare_rows(sample("a", 0.970, 0.972, 0.974), [sample("b", 0.957, 0.959, 0.961)])
    higher = compare_rows(sample("a", 0.957, 0.959, 0.961), [sample("b", 0.970, 0.972, 0.974)])
    assert lower[0].verdict == "lower by 1.3 points (0.8 to 1.8)"
    assert higher[0].verdict == "higher by 1.3 points (0.8 to 1.8)"


def test_what_is_not_shown_is_told_with_what_would_have_been() -> None:
    (found,) = compare_rows(sample("a", 0.96, 0.97, 0.98), [sample("b", 0.955, 0.965, 0.98)])
    assert found.detectable is not None
    assert found.verdict == f"no difference shown; about {points(found.detectable)} would have shown"
    assert 0.01 < found.detectable < 0.1


def test_a_difference_that_many_comparisons_put_in_doubt_says_so() -> None:
    first, second = sample("a", 0.90, 0.91, 0.92), sample("b", 0.925, 0.935, 0.945)
    same = [sample("c", 0.90, 0.91, 0.92)] * 9
    assert compare_rows(first, [second])[0].verdict.startswith("higher by")
    found = compare_rows(first, [second, *same])[0]
    assert found.verdict.startswith("no difference shown, 10 comparisons counted; about ")


def test_more_seeds_show_smaller_differences() -> None:
    few = compare_rows(sample("a", 0.9, 0.92), [sample("b", 0.9, 0.92)])[0].detectable
    many = compare_rows(sample("a", *(0.9, 0.92) * 5), [sample("b", *(0.9, 0.92) * 5)])[0].detectable
    assert few is not None
    assert many is not None
    assert many < few / 4


def test_the_difference_that_would_have_shown_shows_four_times_in_five() -> None:
    import random

    chance = random.Random(1)
    seeds, spread = 6, 0.01
    error = spread * math.sqrt(2 / seeds)
    gap = (quantile(0.975, 2 * (seeds - 1)) + quantile(0.8, 2 * (seeds - 1))) * error
    shown = 0
    for _ in range(400):
        first = sample("a", *(chance.gauss(0.9, spread) for _ in range(seeds)))
        second = sample("b", *(chance.gauss(0.9 - gap, spread) for _ in range(seeds)))
        shown += compare_rows(first, [second])[0].verdict.startswith("lower")
    assert 0.74 < shown / 400 < 0.88


@pytest.mark.parametrize(("first", "second"), [((0.9,), (0.8, 0.81)), ((0.9, 0.91), (0.8,)), ((0.9,), (0.8,))])
def test_one_seed_tells_nothing(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    (found,) = compare_rows(sample("a", *first), [sample("b", *second)])
    assert (found.verdict, found.ci95, found.p_value) == (TOO_FEW, None, None)
    assert found.difference == pytest.approx(second[0] - first[0], abs=0.02)


def test_a_row_without_runs_has_no_difference_and_does_not_count_as_a_comparison() -> None:
    first, second = sample("a", 0.90, 0.91, 0.92), sample("b", 0.94, 0.95, 0.96)
    alone = compare_rows(first, [second])[0]
    beside, none = compare_rows(first, [second, sample("c")])
    assert math.isnan(none.difference)
    assert (beside.p_value, beside.detectable) == (alone.p_value, alone.detectable)


def test_equal_seeds_are_not_taken_for_certainty() -> None:
    """Accuracies of few examples come in steps; that two runs are equal does not mean that a third would be."""
    first = Sample(label="a", values=(0.95, 0.95), parts=20)
    second = Sample(label="b", values=(1.0, 1.0), parts=20)
    (found,) = compare_rows(first, [second])
    assert found.p_value is not None
    assert found.p_value > 0.05
    (unknown,) = compare_rows(sample("a", 0.95, 0.95), [sample("b", 0.95, 0.95)])
    assert unknown.verdict == TOO_FEW


def test_figures_that_change_by_one_example_alone_seldom_differ() -> None:
    """Three seeds that happen to agree do not show that all would: the next may be one example off."""
    chance, called = random.Random(3), 0
    for _ in range(1000):
        rows = [
            Sample(label=str(row), values=tuple((340 + chance.randint(0, 1)) / 360 for _ in range(3)), parts=360)
            for row in range(4)
        ]
        found = compare_rows(rows[0], rows[1:])
        called += any(each.p_value is not None and each.p_value < 0.05 for each in found)
    assert called / 1000 <= 0.05
