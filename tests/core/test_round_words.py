"""Hyperparameters are typed as a name with values, a range or one value."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.round_words import parse_assignment, parse_choices, parse_searched


def test_values_stand_between_commas() -> None:
    assert parse_choices("model=mlp:64, mlp:64x64", False) == ("model", ["mlp:64", "mlp:64x64"])
    assert parse_choices("conv1-stride=1,2", False) == ("conv1_stride", [1, 2])


def test_of_an_argument_of_ones_own_the_text_says_what_kind_it_is() -> None:
    assert parse_choices("x=1,2.5,true,red", True) == ("x", [1, 2.5, True, "red"])


def test_a_value_is_of_the_fields_kind() -> None:
    field, value = parse_assignment("weight-decay=0", False)
    assert (field, value, type(value)) == ("weight_decay", 0.0, float)
    assert parse_assignment("model=./a=b.py:net", False) == ("model", "./a=b.py:net")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("learning_rate=1e-3..1", {"low": 1e-3, "high": 1}),
        ("lr=.1...5", {"low": 0.1, "high": 0.5}),
        ("learning_rate=1e-3..1:linear", {"low": 1e-3, "high": 1, "scale": "linear"}),
        ("ghost_size=8..64", {"low": 8, "high": 64, "integer": True}),
        ("clip_norm=0.5,1", {"values": [0.5, 1.0]}),
        ("momentum", {}),
    ],
)
def test_a_range_becomes_what_the_file_would_say(text: str, table: dict[str, object]) -> None:
    assert parse_searched(text, False)[1] == table


def test_whole_ends_of_an_own_argument_mean_whole_numbers() -> None:
    assert parse_searched("layers=1..8", True) == ("layers", {"low": 1, "high": 8, "integer": True})
    assert parse_searched("share=0.0..1", True) == ("share", {"low": 0.0, "high": 1})


@pytest.mark.parametrize("text", ["", "=", "model", "model=", "=3"])
def test_what_has_no_name_or_value_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_assignment(text, False)
    assert "NAME=VALUE" in (caught.value.hint or "")


@given(st.text())
def test_any_text_is_taken_or_refused(text: str) -> None:
    for parse in (parse_assignment, parse_choices, parse_searched):
        with contextlib.suppress(UsageError):
            name, _ = parse(text, False)
            assert name is not None
