import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.intervals import (
    UNKNOWN,
    combine_processes,
    log_t_interval,
    median,
    median_interval,
    ratio_interval,
    relative_half_width,
    t_interval,
    t_quantile,
)

times = st.floats(min_value=1e-6, max_value=1e4)
samples = st.lists(times, min_size=1, max_size=60)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_the_median_is_that_of_the_standard_library(values: list[float]) -> None:
    assert median(values) == pytest.approx(statistics.median(values), rel=1e-12)


def test_nothing_has_neither_median_nor_interval() -> None:
    for function in (median, t_interval):
        with pytest.raises(ValueError, match="nothing"):
            function([])


@pytest.mark.parametrize("freedom", [*range(1, 40), 60, 100, 1000, 10**6])
def test_the_t_quantile_agrees_with_scipy(freedom: int) -> None:
    from scipy import stats

    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)


def test_the_t_quantile_needs_a_degree_of_freedom() -> None:
    with pytest.raises(ValueError, match="degree"):
        t_quantile(0)


@given(samples)
def test_the_interval_of_the_median_holds_the_median(values: list[float]) -> None:
    low, high = median_interval(values)
    assert low <= median(values) * (1 + 1e-9)
    assert high >= median(values) * (1 - 1e-9)


@given(samples, st.floats(min_value=1e-3, max_value=1e3))
def test_the_interval_of_the_median_scales_with_the_unit(values: list[float], factor: float) -> None:
    low, high = median_interval(values)
    scaled = median_interval([value * factor for value in values])
    assert scaled == pytest.approx((low * factor, high * factor), rel=1e-6)


@pytest.mark.parametrize("count", [6, 9, 17, 40, 101, 499, 501, 900])
def test_order_statistics_promise_at_least_95_percent_and_waste_little(count: int) -> None:
    """The binomial distribution says exactly how often the interval's ranks hold the median."""
    from scipy import stats

    low, high = median_interval([float(value) for value in range(1, count + 1)])
    left_out = int(low) - 1
    assert int(high) == count - left_out
    coverage = 1 - 2 * stats.binom.cdf(left_out, count, 0.5)
    assert coverage >= 0.95
    assert 1 - 2 * stats.binom.cdf(left_out + 2, count, 0.5) < 0.95


def test_one_value_alone_leaves_its_interval_unknown() -> None:
    assert median_interval([0.5]) == UNKNOWN
    assert t_interval([3.0]) == (-math.inf, math.inf)


def test_the_t_interval_of_known_numbers() -> None:
    low, high = t_interval([1.0, 2.0, 3.0])
    assert (low, high) == pytest.approx((2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)))


@given(st.lists(times, min_size=2, max_size=8))
def test_an_interval_on_logarithms_stays_positive(values: list[float]) -> None:
    low, high = log_t_interval(values)
    assert 0 <= low <= high


def test_a_single_process_keeps_its_own_interval() -> None:
    assert combine_processes([0.1], [(0.09, 0.12)]) == (0.1, (0.09, 0.12))


def test_processes_that_agree_by_chance_are_not_taken_for_certain() -> None:
    """Three intervals of ±10 % leave a standard error of 10 / 1.96 / √3 %, however well they agree."""
    center, (low, high) = combine_processes([0.1, 0.1, 0.1], [(0.09, 0.11)] * 3)
    assert center == pytest.approx(0.1)
    assert math.log(high / low) / 2 == pytest.approx(math.log(0.11 / 0.09) / 2 / 1.96 / math.sqrt(3), rel=1e-3)


def test_an_unknown_interval_within_a_process_leaves_the_spread_between_them() -> None:
    _, interval = combine_processes([0.1, 0.101, 0.102], [UNKNOWN] * 3)
    assert interval == pytest.approx(log_t_interval([0.1, 0.101, 0.102]))


@pytest.mark.parametrize("processes", [3, 4, 5])
@pytest.mark.parametrize(("between", "within"), [(0.01, 0.005), (0.003, 0.02), (0.02, 0.001)])
def test_the_interval_over_processes_covers_the_truth_as_often_as_it_says(
    processes: int, between: float, within: float
) -> None:
    """2,000 simulated studies, each process off by its own amount and each block by more."""
    noise = random.Random(f"{processes} {between} {within}")
    truth, studies, hits = 0.1, 2000, 0
    for _ in range(studies):
        medians, intervals = [], []
        for _ in range(processes):
            level = truth * math.exp(noise.gauss(0, between))
            blocks = [level * math.exp(noise.gauss(0, within)) for _ in range(12)]
            medians.append(median(blocks))
            intervals.append(median_interval(blocks))
        _, (low, high) = combine_processes(medians, intervals)
        hits += low <= truth <= high
    assert 0.92 <= hits / studies <= 0.985


def test_the_interval_of_a_median_covers_the_truth_as_often_as_it_says() -> None:
    """Also for blocks whose times have a long tail, as they do on a busy machine."""
    noise = random.Random(7)
    hits = 0
    for _ in range(2000):
        blocks = [0.1 * math.exp(abs(noise.gauss(0, 0.05))) for _ in range(15)]
        low, high = median_interval(blocks)
        hits += low <= 0.1 * math.exp(0.05 * 0.6744898) <= high
    assert 0.94 <= hits / 2000 <= 0.985


def test_a_ratio_adds_its_errors_in_quadrature() -> None:
    ratio, (low, high) = ratio_interval(100, (97, 103.09), 200, (192, 208.33))
    assert ratio == 2
    assert math.log(high / 2) == pytest.approx(math.hypot(math.log(208.33 / 200), math.log(100 / 97)))
    assert math.log(2 / low) == pytest.approx(math.hypot(math.log(200 / 192), math.log(103.09 / 100)))


def test_a_ratio_to_something_unknown_is_unknown() -> None:
    assert ratio_interval(100, UNKNOWN, 200, (199, 201))[1] == UNKNOWN


@given(times, times, st.floats(0.001, 0.3), st.floats(0.001, 0.3))
def test_the_ratio_turned_round_has_the_interval_turned_round(a: float, b: float, x: float, y: float) -> None:
    a_interval, b_interval = (a * (1 - x), a * (1 + x)), (b * (1 - y), b * (1 + y))
    ratio, (low, high) = ratio_interval(a, a_interval, b, b_interval)
    back, (back_low, back_high) = ratio_interval(b, b_interval, a, a_interval)
    assert low <= ratio <= high
    assert (back, back_low, back_high) == pytest.approx((1 / ratio, 1 / high, 1 / low))


def test_the_ratio_of_two_studies_covers_the_truth_as_often_as_it_says() -> None:
    noise = random.Random(11)
    hits = 0
    for _ in range(2000):
        a, b = ([level * math.exp(noise.gauss(0, 0.01)) for _ in range(4)] for level in (0.1, 0.05))
        estimates = [combine_processes(values, [UNKNOWN] * 4) for values in (a, b)]
        _, (low, high) = ratio_interval(*estimates[0], *estimates[1])
        hits += low <= 0.5 <= high
    assert 0.94 <= hits / 2000 <= 0.995


def test_half_width_is_the_longer_side() -> None:
    assert relative_half_width(100, (98, 105)) == pytest.approx(0.05)
