"""Rates for other batch sizes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.rate_rules import scaled_rate
from traindyno.core.errors import UsageError
from traindyno.core.learning import RateRule

SIZES = st.integers(1, 65536)
SCALES = st.floats(0, 1e6)


def test_the_rules_of_the_notes() -> None:
    """Note 003 scales 3e-4 at 32 to 2.4e-3 at 256."""
    assert scaled_rate("linear", 3e-4, 32, 256) == pytest.approx(2.4e-3)
    assert scaled_rate("sqrt", 3e-4, 32, 128) == pytest.approx(6e-4)
    assert scaled_rate("none", 3e-4, 32, 256) == 3e-4
    assert scaled_rate("gain", 0.1, 32, 256, "sgd", 128.0) == pytest.approx(0.1 * (1 + 4) / (1 + 0.5))
    assert scaled_rate("gain", 0.1, 32, 256, "adamw", 128.0) == pytest.approx(0.1 * math.sqrt(5 / 1.5))


@given(rule=st.sampled_from(["gain", "linear", "sqrt", "none", "tune"]), size=SIZES, scale=SCALES)
def test_the_reference_keeps_its_own_rate(rule: RateRule, size: int, scale: float) -> None:
    for optimizer in ("sgd", "adam"):
        assert scaled_rate(rule, 0.1, size, size, optimizer, scale) == pytest.approx(0.1)  # type: ignore[arg-type]


@given(small=SIZES, large=SIZES, scale=SCALES)
def test_gain_lies_between_one_rate_for_all_and_the_linear_rule(small: int, large: int, scale: float) -> None:
    small, large = sorted((small, large))
    rate = scaled_rate("gain", 1.0, small, large, "sgd", scale)
    assert 1.0 - 1e-9 <= rate <= scaled_rate("linear", 1.0, small, large) * (1 + 1e-9)


@given(first=SIZES, middle=SIZES, last=SIZES, scale=SCALES)
def test_scaling_twice_is_scaling_once(first: int, middle: int, last: int, scale: float) -> None:
    between = scaled_rate("gain", 1.0, first, middle, "adam", scale)
    assert scaled_rate("gain", between, middle, last, "adam", scale) == pytest.approx(
        scaled_rate("gain", 1.0, first, last, "adam", scale)
    )


def test_far_below_the_noise_scale_gain_is_the_linear_rule_and_far_above_it_none() -> None:
    assert scaled_rate("gain", 0.1, 32, 256, "sgd", 1e9) == pytest.approx(0.8)
    assert scaled_rate("gain", 0.1, 32, 256, "sgd", 1e-6) == pytest.approx(0.1)


def test_a_search_begins_with_the_gain_where_it_is_known_and_else_with_the_square_root() -> None:
    assert scaled_rate("tune", 0.1, 32, 128) == pytest.approx(0.2)
    assert scaled_rate("tune", 0.1, 32, 128, "sgd", 128.0) == scaled_rate("gain", 0.1, 32, 128, "sgd", 128.0)


def test_gain_without_a_noise_scale_says_what_to_give() -> None:
    with pytest.raises(UsageError, match="noise scale") as error:
        scaled_rate("gain", 0.1, 32, 64)
    assert "--noise-scale" in (error.value.hint or "")
