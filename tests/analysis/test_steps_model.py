import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.steps_model import fit_steps, relative_examples, relative_steps

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)


@given(st.floats(1, 1e5), st.floats(0.5, 5000))
def test_the_law_is_recovered_from_its_own_steps(least: float, noise_scale: float) -> None:
    fit = fit_steps({size: least * relative_steps(size, noise_scale) for size in SIZES})
    assert fit is not None
    assert fit.least_steps == pytest.approx(least, rel=1e-6)
    assert fit.noise_scale == pytest.approx(noise_scale, rel=1e-5)
    assert max(map(abs, fit.errors.values())) < 1e-6


def test_errors_say_how_much_was_measured_above_the_fit() -> None:
    steps = {size: 100 * relative_steps(size, 64) for size in SIZES}
    fit = fit_steps({**steps, 64: 1.2 * steps[64]})
    assert fit is not None
    assert 0.1 < fit.errors[64] < 0.2
    assert set(fit.errors) == set(SIZES)


def test_steps_that_do_not_fall_with_the_batch_have_no_noise_scale_above_zero() -> None:
    fit = fit_steps({8: 100.0, 64: 110.0, 512: 120.0})
    assert fit is not None
    assert fit.noise_scale == 0
    assert fit.least_steps == pytest.approx(110, rel=0.05)


def test_missed_targets_are_left_out_and_one_batch_gives_no_fit() -> None:
    assert fit_steps({8: math.inf, 16: 100.0}) is None
    fit = fit_steps({8: math.inf, 16: 300.0, 32: 200.0})
    assert fit is not None
    assert set(fit.errors) == {16, 32}


def test_steps_that_fall_faster_than_examples_grow_fit_no_such_law() -> None:
    assert fit_steps({8: 1000.0, 16: 100.0}) is None


@given(st.integers(1, 4096), st.floats(0.1, 1e4))
def test_steps_and_examples_trade_along_the_hyperbola(size: int, noise_scale: float) -> None:
    assert 1 / relative_steps(size, noise_scale) + 1 / relative_examples(size, noise_scale) == pytest.approx(1)
