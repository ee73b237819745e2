"""What the best of k draws is expected to score: exact, unbiased, and with an interval that means something."""

from itertools import combinations, pairwise

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rounds.conclude_cases import LOSS, RATE, a_round, scored
from traindyno.analysis.rounds.best_of_k import best_of_k, expected_best

ROUND = a_round(RATE)
scores = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7)


@given(scores)
def test_it_is_the_mean_over_all_ways_to_choose_k_of_the_draws(values: list[float]) -> None:
    found = expected_best(ROUND, scored(values)).expected
    for k in range(1, len(values) + 1):
        chosen = [max(some) for some in combinations(values, k)]
        assert found[k - 1] == pytest.approx(sum(chosen) / len(chosen), abs=1e-9)


@given(scores)
def test_a_loss_is_best_where_it_is_least(values: list[float]) -> None:
    found = expected_best(a_round(RATE, metric=LOSS), scored(values)).expected
    assert found[0] == pytest.approx(sum(values) / len(values), abs=1e-9)
    assert found[-1] == pytest.approx(min(values), abs=1e-9)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(found))


def test_it_is_unbiased_where_the_best_run_of_a_shorter_search_is_asked_for() -> None:
    random = numpy.random.default_rng(0)
    found = [expected_best(ROUND, scored(random.random(12).tolist())).expected[3] for _ in range(400)]
    assert numpy.mean(found) == pytest.approx(4 / 5, abs=3 * numpy.std(found) / 20)


def test_a_run_that_diverged_never_wins_but_counts_as_a_draw() -> None:
    assert expected_best(ROUND, scored([0.9, None])).expected == (0.9, 0.9)
    some = expected_best(ROUND, scored([0.5, 0.9, None])).expected
    assert some[0] == pytest.approx((0.5 + 0.9 + 0.5) / 3)
    assert some[-1] == 0.9


def test_without_any_score_nothing_is_expected() -> None:
    found = best_of_k(ROUND, "", scored([None, None]), None)
    assert (found.expected, found.low, found.high, found.saturated) == ((), (), (), None)


def test_intervals_hold_the_truth_most_of_the_time_also_at_all_draws() -> None:
    random = numpy.random.default_rng(1)
    inside = 0
    for _ in range(200):
        found = best_of_k(ROUND, "", scored((0.9 * random.random(16)).tolist()), None)
        inside += found.low[-1] <= 0.9 * 16 / 17 <= found.high[-1]
    assert inside >= 180


def test_no_interval_of_an_accuracy_passes_one() -> None:
    found = best_of_k(ROUND, "", scored([0.2, 0.9, 0.99, 1.0, 0.4, 0.3, 0.99, 1.0]), None)
    assert max(found.high) <= 1.0
    assert min(found.low) >= 0.0


def test_a_search_is_saturated_when_doubling_it_adds_less_than_seeds_do() -> None:
    flat = scored([0.95, 0.951, 0.952, 0.953, 0.951, 0.95, 0.952, 0.5])
    assert best_of_k(ROUND, "", flat, seed_spread=0.004).saturated
    rising = scored([0.1 * place for place in range(1, 9)])
    assert best_of_k(ROUND, "", rising, seed_spread=0.004).saturated is False
    assert best_of_k(ROUND, "", rising[:5], seed_spread=0.004).saturated is None
