import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import curve, point
from traindyno.analysis.batch_times import batch_range, batch_times, best_batch, closed_form_batch
from traindyno.analysis.curve import NOISY, NOT_STEADY
from traindyno.analysis.noise_scale import UNKNOWN_NOISE, NoiseEstimate
from traindyno.core.answers import CurvePoint, StepModel

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def affine(alpha: float, beta: float) -> tuple[CurvePoint, ...]:
    return curve({size: size / (alpha + beta * size) for size in SIZES})


def noise(value: float, ends: tuple[float, float] | None = None) -> NoiseEstimate:
    return NoiseEstimate(value=value, ci95=ends or (0.8 * value, 1.25 * value))


@given(st.floats(1e-4, 1e-1), st.floats(1e-5, 1e-2), st.floats(1, 1000))
def test_the_best_measured_batch_is_next_to_the_closed_form(alpha: float, beta: float, noise_scale: float) -> None:
    best = best_batch(batch_times(affine(alpha, beta), noise(noise_scale)))
    model = StepModel(alpha_seconds=alpha, beta_seconds=beta, relative_error=0.0)
    expected = min(max(closed_form_batch(model, noise_scale), 1), 1024)
    assert best is not None
    assert expected / 2.01 <= best <= expected * 2.01


@given(st.floats(1, 1000))
def test_the_range_holds_the_best_and_every_size_in_it_is_within_five_percent(noise_scale: float) -> None:
    rows = batch_times(affine(0.01, 0.001), noise(noise_scale))
    found, best = batch_range(rows), best_batch(rows)
    assert found is not None
    assert best is not None
    assert found[0] <= best <= found[1]
    for row in rows:
        assert (row.relative_time <= 1.05) == (found[0] <= row.batch_size <= found[1])


def test_where_steps_cost_the_same_at_any_batch_the_largest_is_best() -> None:
    assert best_batch(batch_times(affine(0.01, 0.0), noise(100))) == 1024


def test_where_examples_cost_the_same_at_any_batch_the_smallest_is_best() -> None:
    assert best_batch(batch_times(affine(0.0, 0.01), noise(100))) == 1


def test_the_best_has_no_interval_beside_itself_and_others_have_one_around_theirs() -> None:
    for row in batch_times(affine(0.01, 0.001), noise(100)):
        low, high = row.relative_time_ci95
        if row.relative_time == 1:
            assert (low, high) == (1, 1)
        else:
            assert low < row.relative_time < high


def test_a_noise_scale_known_less_well_widens_the_times() -> None:
    narrow = batch_times(affine(0.01, 0.001), noise(100, (95, 105)))
    wide = batch_times(affine(0.01, 0.001), noise(100, (10, math.inf)))
    for less, more in zip(narrow, wide, strict=True):
        assert more.relative_time == less.relative_time
        assert more.relative_time_ci95[0] <= less.relative_time_ci95[0]
        assert more.relative_time_ci95[1] >= less.relative_time_ci95[1]
        assert math.isfinite(more.relative_time_ci95[1])


def test_at_the_noise_scale_steps_are_twice_the_least_and_examples_twice_their_least() -> None:
    row = next(row for row in batch_times(affine(0.01, 0.001), noise(64)) if row.batch_size == 64)
    assert row.relative_steps == pytest.approx(2)
    assert row.relative_examples == pytest.approx(2)


UNSURE = (*curve({32: 1000.0, 64: 1020}), point(128, 1100, half_width=0.6, steady=False, marks=(NOT_STEADY, NOISY)))


def test_a_noisy_or_unsteady_size_that_looks_faster_is_not_the_best() -> None:
    rows = batch_times(UNSURE, noise(10_000))
    assert best_batch(rows) == 64
    assert batch_range(rows) == (32, 128)
    by_size = {row.batch_size: row for row in rows}
    assert (by_size[64].relative_time, by_size[64].relative_time_ci95) == (1, (1, 1))
    assert by_size[128].relative_time < 1
    assert by_size[128].marks == (NOT_STEADY, NOISY)


def test_a_noisy_size_whose_far_end_beats_all_others_is_the_best() -> None:
    clear = point(128, 2000, half_width=0.3, marks=(NOISY,))
    assert best_batch(batch_times((*curve({32: 1000.0, 64: 1020}), clear), noise(10_000))) == 128


def test_by_another_noise_scale_the_same_sizes_are_trusted() -> None:
    rows = batch_times(UNSURE, noise(1))
    assert best_batch(rows) == 32
    assert best_batch(rows, 10_000) == 64


def test_without_a_noise_scale_nothing_is_said_of_time() -> None:
    assert batch_times(affine(0.01, 0.001), UNKNOWN_NOISE) == ()
    assert best_batch(()) is None
    assert batch_range(()) is None
