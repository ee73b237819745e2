"""Which worker counts are considered, tried and taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.worker_choice import choose_count, fewest_near_best, next_count, worker_counts
from traindyno.analysis.worker_estimates import Estimate
from traindyno.core.answers.interval import Interval


def estimate(workers: int, seconds: float, spread: float = 0.0, measured: bool = False) -> Estimate:
    low, high = seconds * (1 - spread), seconds * (1 + spread)
    return Estimate(num_workers=workers, seconds=seconds, low=low, high=high, measured=measured)


def rated(workers: int, rate: float, half_width: float = 0.005) -> tuple[int, float, Interval]:
    return workers, rate, (rate * (1 - half_width), rate * (1 + half_width))


@pytest.mark.parametrize(
    ("cpus", "counts"),
    [
        (1, (0, 1, 2)),
        (2, (0, 1, 2, 3, 4)),
        (4, (0, 1, 2, 3, 4, 5)),
        (16, (0, 1, 2, 3, 4, 6, 8, 12, 15, 16, 20)),
    ],
)
def test_counts_span_none_to_a_little_more_than_the_cpus(cpus: float, counts: tuple[int, ...]) -> None:
    assert worker_counts(cpus) == counts


@given(st.floats(0.1, 300))
def test_counts_ascend_from_none_and_hold_all_whole_cpus(cpus: float) -> None:
    counts = worker_counts(cpus)
    assert counts[0] == 0
    assert list(counts) == sorted(set(counts))
    assert max(1, int(cpus)) in counts


def test_of_counts_that_are_as_good_the_fewest_are_expected_to_suffice() -> None:
    assert fewest_near_best([estimate(1, 0.2), estimate(2, 0.1005), estimate(3, 0.1)]).num_workers == 2


def test_a_sure_forecast_is_confirmed_at_once() -> None:
    following = next_count([estimate(1, 0.2), estimate(2, 0.1)], trials_left=4, load_first=True)
    assert following is not None
    assert (following.num_workers, following.how) == (2, "goal")


def test_an_unsure_forecast_has_the_loader_tried_alone_first() -> None:
    unsure = [estimate(1, 0.2, 0.1), estimate(8, 0.1, 0.1)]
    following = next_count(unsure, trials_left=4, load_first=True)
    assert following is not None
    assert (following.num_workers, following.how) == (8, "load")


def test_the_last_trial_is_one_of_what_is_asked_for() -> None:
    following = next_count([estimate(8, 0.1, 0.1)], trials_left=1, load_first=True)
    assert following is not None
    assert following.how == "goal"


def test_a_count_that_may_be_faster_than_the_best_is_tried() -> None:
    following = next_count([estimate(4, 0.1, measured=True), estimate(8, 0.101, 0.05)], 2, load_first=False)
    assert following is not None
    assert following.num_workers == 8


def test_of_counts_that_promise_the_same_the_fewest_are_tried() -> None:
    promising = [estimate(4, 0.0502, 0.01), estimate(8, 0.0501, 0.01), estimate(12, 0.05, 0.01)]
    following = next_count([estimate(1, 0.2, measured=True), *promising], 2, load_first=False)
    assert following is not None
    assert following.num_workers == 4


def test_counts_that_cannot_be_faster_are_left() -> None:
    assert next_count([estimate(4, 0.1, measured=True), estimate(8, 0.11, 0.05)], 2, load_first=False) is None


def test_a_count_next_to_a_measured_one_teaches_nothing() -> None:
    near = [estimate(16, 0.1, measured=True), estimate(15, 0.1, 0.05)]
    assert next_count(near, 2, load_first=False) is None


def test_clearly_fewer_workers_that_should_do_as_well_are_tried() -> None:
    following = next_count([estimate(2, 0.1), estimate(8, 0.1, measured=True)], 2, load_first=False)
    assert following is not None
    assert following.num_workers == 2


def test_without_trials_left_nothing_is_asked() -> None:
    assert next_count([estimate(2, 0.1)], 0, load_first=False) is None


def test_the_fewest_within_the_interval_of_the_best_are_taken() -> None:
    assert choose_count([rated(2, 985.0, 0.02), rated(4, 992.0), rated(8, 1000.0)]) == 2
    assert choose_count([rated(2, 985.0, 0.005), rated(4, 992.0), rated(8, 1000.0)]) == 4
    assert choose_count([rated(2, 950.0, 0.2), rated(8, 1000.0)]) == 8


@given(st.lists(st.tuples(st.integers(0, 64), st.floats(1, 1000)), min_size=1, unique_by=lambda pair: pair[0]))
def test_what_is_taken_is_never_more_than_2_percent_below_the_best(pairs: list[tuple[int, float]]) -> None:
    chosen = choose_count([rated(count, rate, 0.1) for count, rate in pairs])
    assert dict(pairs)[chosen] >= 0.98 * max(rate for _, rate in pairs)
