import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import curve
from traindyno.analysis.step_model import fit_step_model


@given(st.floats(1e-4, 1), st.floats(1e-6, 1e-1))
def test_an_affine_step_time_is_recovered(alpha: float, beta: float) -> None:
    model = fit_step_model(curve({size: size / (alpha + beta * size) for size in (1, 8, 64, 512)}))
    assert model is not None
    assert model.alpha_seconds == pytest.approx(alpha, rel=1e-6, abs=1e-9)
    assert model.beta_seconds == pytest.approx(beta, rel=1e-6)
    assert model.relative_error < 1e-6


def test_a_fixed_cost_below_zero_becomes_zero() -> None:
    model = fit_step_model(curve({8: 1000.0, 16: 800, 32: 700}))
    assert model is not None
    assert model.alpha_seconds == 0
    assert model.beta_seconds == pytest.approx(1 / 800, rel=0.2)


def test_the_error_is_the_worst_relative_miss() -> None:
    """A launch-bound curve is no line, and the model says by how much it misses."""
    model = fit_step_model(curve({size: size / max(0.017, 0.0005 * size) for size in (1, 8, 32, 128, 512)}))
    assert model is not None
    assert 0.1 < model.relative_error < 0.5


def test_one_size_or_no_growth_gives_no_model() -> None:
    assert fit_step_model(curve({8: 100.0})) is None
    assert fit_step_model(curve({8: 100.0, 16: 400.0})) is None
