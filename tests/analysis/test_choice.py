import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import RESNET50_H200, curve, point
from traindyno.analysis.choice import best_point, choose_batch, safe_points, saturated_from

NOTE_000_RTX3090 = {1: 151.0, 2: 318, 4: 346, 8: 364, 16: 414, 32: 447, 64: 450, 128: 458, 256: 465, 512: 464}
NOTE_000_RTX4060TI = {1: 92.0, 2: 145, 4: 164, 8: 150, 16: 161, 32: 156, 64: 157}

rates = st.dictionaries(st.integers(1, 4096), st.floats(1, 1e5), min_size=1, max_size=12)


def test_the_curve_of_an_h200_saturates_at_256() -> None:
    choice = choose_batch(curve(RESNET50_H200, half_width=0.005), margin=0.05)
    assert (choice.best, choice.recommended, choice.saturated_from) == (512, 256, 256)
    assert (choice.fastest, choice.largest) == (512, 1024)


def test_the_curve_of_note_000_saturates_long_before_memory_is_full() -> None:
    choice = choose_batch(curve(NOTE_000_RTX3090, half_width=0.002), margin=0.05)
    assert (choice.best, choice.recommended, choice.saturated_from) == (256, 128, 128)


def test_a_local_drop_before_the_best_does_not_hide_a_smaller_near_best_batch() -> None:
    rates = {8: 50.0, 16: 80, 32: 98, 64: 90, 128: 100, 256: 99}
    choice = choose_batch(curve(rates, half_width=0.005), margin=0.05)
    assert choice.recommended == 32
    assert choice.saturated_from == 128


def test_a_curve_that_peaks_early_is_saturated_at_its_peak() -> None:
    choice = choose_batch(curve(NOTE_000_RTX4060TI, half_width=0.005), margin=0.05)
    assert (choice.best, choice.recommended, choice.saturated_from) == (4, 4, 4)
    assert choice.largest == 64


def test_a_curve_that_still_rises_recommends_the_largest_safe_batch() -> None:
    points = [
        *curve({32: 100.0, 64: 180, 128: 300}),
        point(256, 500, memory_share=0.90),
        point(288, 540, memory_share=0.99),
    ]
    choice = choose_batch(points, margin=0.05)
    assert choice.saturated_from is None
    assert choice.best == 288
    assert choice.recommended == choice.fastest == choice.largest == 256


def test_two_sizes_next_to_each_other_at_the_end_do_not_make_a_rising_curve_saturated() -> None:
    assert saturated_from(curve({64: 100.0, 128: 150, 256: 220, 264: 222})) is None


def test_a_flat_end_shorter_than_a_doubling_counts_if_it_is_flat_enough() -> None:
    assert saturated_from(curve({256: 80.0, 512: 90, 1024: 99, 1280: 99.5, 1536: 100})) == 1024
    assert saturated_from(curve({256: 80.0, 512: 90, 1024: 97.5, 1280: 99, 1536: 100})) is None


def test_without_saturation_a_slower_largest_batch_is_not_recommended() -> None:
    """Nothing near twice the best was measured, so saturation is not shown; yet the largest is slower."""
    choice = choose_batch(curve({32: 50.0, 64: 100, 80: 90}), margin=0.05)
    assert choice.saturated_from is None
    assert choice.recommended == 64


def test_a_wide_interval_wins_nothing() -> None:
    points = [
        point(32, 90, half_width=0.2, marks=("noisy",)),
        point(64, 96, half_width=0.2, marks=("noisy",)),
        point(128, 98, half_width=0.005),
        point(256, 100, half_width=0.005),
    ]
    assert choose_batch(points, margin=0.05).recommended == 128


def test_a_precise_point_slightly_below_gets_the_benefit_of_the_doubt() -> None:
    points = [point(64, 96.5, half_width=0.01), point(128, 100), point(256, 100)]
    assert choose_batch(points, margin=0.05).recommended == 64
    points[0] = point(64, 96.5, half_width=0.001)
    assert choose_batch(points, margin=0.05).recommended == 128


def test_no_interval_excuses_more_than_five_percent() -> None:
    points = [point(64, 94.5, half_width=0.049), point(128, 100), point(256, 100)]
    assert choose_batch(points, margin=0.05).recommended == 128


def test_a_noisy_outlier_does_not_raise_the_bar() -> None:
    points = [*curve({64: 99.0, 128: 100}), point(256, 120, half_width=0.3, marks=("noisy",))]
    assert best_point(points).batch_size == 128
    clear = [*curve({64: 99.0, 128: 100}), point(256, 200, half_width=0.3, marks=("noisy",))]
    assert best_point(clear).batch_size == 256


def test_an_unsteady_point_is_not_the_best_either() -> None:
    points = [point(64, 100), point(128, 105, steady=False, half_width=0.06)]
    assert best_point(points).batch_size == 64


def test_only_untrusted_points_still_give_a_choice() -> None:
    points = [point(64, 100, steady=False), point(128, 105, steady=False)]
    assert choose_batch(points, margin=0.05).best == 128


def test_safe_means_room_for_the_margin_and_nothing_smaller_out_of_memory() -> None:
    points = [
        point(32, 1, memory_share=None),
        point(64, 1, memory_share=0.95),
        point(96, 1, memory_share=0.5),
        point(128, 1, memory_share=0.96),
    ]
    assert [safe.batch_size for safe in safe_points(points, margin=0.05)] == [32, 64, 96]
    assert [safe.batch_size for safe in safe_points(points, 0.05, out_of_memory_from=96)] == [32, 64]


def test_if_nothing_is_safe_everything_is_on_offer() -> None:
    choice = choose_batch(curve({8: 10.0, 16: 20}, memory_share=0.99), margin=0.05)
    assert (choice.fastest, choice.largest) == (16, 16)


def test_one_size_alone_is_everything_at_once() -> None:
    choice = choose_batch(curve({8: 10.0}), margin=0.05)
    assert (choice.best, choice.recommended, choice.saturated_from) == (8, 8, None)


@given(rates, st.floats(0.001, 0.3))
def test_every_choice_was_measured_and_the_recommended_is_near_the_fastest(
    found: dict[int, float], half_width: float
) -> None:
    points = curve(found, half_width=half_width)
    choice = choose_batch(points, margin=0.05)
    assert {choice.best, choice.recommended, choice.fastest, choice.largest} <= found.keys()
    assert found[choice.recommended] >= 0.95 * found[choice.fastest] * (1 - 1e-9)
    assert choice.saturated_from is None or choice.saturated_from <= choice.best


@given(rates, st.floats(1e-3, 1e3))
def test_the_unit_of_throughput_does_not_matter(found: dict[int, float], factor: float) -> None:
    scaled = curve({size: rate * factor for size, rate in found.items()})
    best = found[best_point(scaled).batch_size]
    assert best == pytest.approx(best_point(curve(found)).examples_per_second)


@pytest.mark.parametrize("shape", [NOTE_000_RTX3090, NOTE_000_RTX4060TI, RESNET50_H200])
def test_the_recommended_batch_of_a_saturated_curve_is_never_above_the_best(shape: dict[int, float]) -> None:
    choice = choose_batch(curve(shape, half_width=0.01), margin=0.05)
    assert choice.recommended <= choice.best
