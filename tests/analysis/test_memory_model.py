import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import failed, ran
from traindyno.analysis.memory_model import (
    fit_memory,
    memory_limit_bytes,
    peak_bytes_by_batch,
    predict_batch,
    predict_bytes,
)

sizes = st.lists(st.integers(1, 10**5), min_size=2, max_size=8, unique=True)
byte_counts = st.integers(0, 2**36)
slopes = st.integers(1, 2**28)


def test_two_sizes_are_met_exactly() -> None:
    model = fit_memory({16: 1160, 64: 1640})
    assert model is not None
    assert (model.intercept_bytes, model.slope_bytes) == pytest.approx((1000, 10))
    assert model.relative_error == pytest.approx(0, abs=1e-12)


@given(sizes, byte_counts, slopes)
def test_affine_memory_is_recovered(batches: list[int], intercept: int, slope: int) -> None:
    model = fit_memory({size: intercept + slope * size for size in batches})
    assert model is not None
    assert model.slope_bytes == pytest.approx(slope, rel=1e-3)
    assert model.relative_error < 1e-6


@given(st.integers(1, 10**6), byte_counts, st.integers(2, 2**28))
def test_the_predicted_batch_fits_and_one_more_does_not(limit: int, intercept: int, slope: int) -> None:
    model = fit_memory({16: intercept + 16 * slope, 64: intercept + 64 * slope})
    assert model is not None
    assert predict_batch(model, intercept + slope * limit + slope // 2) == limit
    assert predict_bytes(model, limit) == pytest.approx(intercept + slope * limit)


def test_the_largest_sizes_decide() -> None:
    """Small sizes carry a workspace that large ones do not: the fit follows the large ones."""
    affine = {size: 1000 + 10 * size for size in (256, 512, 1024)}
    model = fit_memory({8: 3000, 16: 3000, **affine})
    assert model is not None
    assert predict_bytes(model, 2048) == pytest.approx(1000 + 10 * 2048, rel=0.01)
    assert model.relative_error > 0.3


@pytest.mark.parametrize("peaks", [{}, {16: 100}, {16: 100, 64: 100}, {16: 200, 64: 100}])
def test_no_growth_gives_no_model(peaks: dict[int, int]) -> None:
    assert fit_memory(peaks) is None


def test_no_room_at_all_predicts_no_batch() -> None:
    model = fit_memory({16: 1160, 64: 1640})
    assert model is not None
    assert predict_batch(model, 500) == 0


def test_the_highest_peak_of_each_size_counts_and_failures_have_none() -> None:
    records = [ran(64, peak_bytes=5), ran(8, peak_bytes=2), ran(64, peak_bytes=7, repeat=1), failed(128)]
    assert list(peak_bytes_by_batch(records).items()) == [(8, 2), (64, 7)]


def test_the_limit_is_that_of_trials_with_nothing_held_back() -> None:
    records = [
        ran(8, limit_bytes=100),
        ran(16, limit_bytes=101),
        ran(64, limit_bytes=95, margin=0.05, evaluate=True),
        failed(128),
    ]
    assert memory_limit_bytes(records) == 101
    assert memory_limit_bytes(records[2:]) == 95
    assert memory_limit_bytes([ran(8, limit_bytes=None)]) is None
