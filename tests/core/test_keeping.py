"""What must not change, as people write it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.keeping import KEEPABLE, all_kept, kept_settings, parse_keep


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ("precision", {"precision": None}),
        ("precision=fp32,determinism", {"precision": "fp32", "determinism": None}),
        (["batch-size", "memory-format=channels-last"], {"batch_size": None, "memory_format": "channels_last"}),
        ("workers=0, pin_memory=off", {"num_workers": 0, "pin_memory": False}),
        ("data,augmentation", {"data": None, "augmentation": None}),
        ("threads=2,threads=2", {"threads": 2}),
        ((), {}),
    ],
)
def test_names_are_those_of_settings_or_options_with_or_without_a_value(texts: Any, kept: dict[str, Any]) -> None:
    assert parse_keep(texts) == kept


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("precison", "nothing to keep by the name 'precison'", "did you mean precision?"),
        ("colour", "nothing to keep by the name 'colour'", "there are batch_size, "),
        ("precision=fp8", "precision cannot be 'fp8'", "precision=fp32|bf16|fp16"),
        ("batch_size=0", "batch_size cannot be '0'", "a whole number from 1"),
        ("workers=-1", "num_workers cannot be '-1'", "a whole number from 0"),
        ("data=folder:x", "data is kept as it is", "--keep data"),
        ("device", "the device never changes", "--device"),
        ("precision=fp32,precision=bf16", "precision is kept twice", "once"),
    ],
)
def test_a_mistake_is_answered_with_the_way_out(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_keep(text)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@given(st.lists(st.sampled_from(KEEPABLE), unique=True))
def test_any_names_are_kept_in_their_order(names: list[str]) -> None:
    assert parse_keep(",".join(names)) == dict.fromkeys(names)
    assert list(parse_keep(names)) == names


def test_a_value_that_is_kept_becomes_the_baseline_s_and_contradicts_no_option() -> None:
    kept = parse_keep("precision=fp32,compile")
    assert kept_settings(kept, {"precision": "fp32", "compile": "default"}) == {"precision": "fp32"}
    with pytest.raises(UsageError, match="precision is to be kept at fp32, and yet bf16 is asked for"):
        kept_settings(kept, {"precision": "bf16"})


def test_the_number_of_devices_is_no_search_s_to_change() -> None:
    with pytest.raises(UsageError, match="the number of devices never changes here") as caught:
        parse_keep("devices")
    assert "traindyno scale" in (caught.value.hint or "")


def test_who_keeps_precision_keeps_tf32_which_is_one_of_its_own() -> None:
    assert all_kept({"precision": "fp32"}) == {"precision": "fp32", "tf32": None}
    assert all_kept({"precision": None, "tf32": "all"}) == {"precision": None, "tf32": "all"}
    assert all_kept({"determinism": None}) == {"determinism": None}
