from contextlib import suppress
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.settings_text import KNOBS, WITH_OPTIONS, format_knobs, parse_knob, parse_knobs

KINDS = get_type_hints(Settings)


def values_of(name: str) -> st.SearchStrategy[Any]:
    kind = KINDS[name]
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    return st.booleans() if kind is bool else st.integers(1, 10_000)


@given(st.fixed_dictionaries({}, optional={name: values_of(name) for name in KNOBS}))
def test_knobs_are_read_back_as_they_were_written(knobs: dict[str, Any]) -> None:
    settings = Settings(batch_size=8, **knobs)
    assert Settings(batch_size=8, **parse_knobs(format_knobs(settings))) == settings


@given(st.sampled_from(KNOBS), st.text(max_size=12))
def test_a_value_is_one_that_the_setting_may_have_or_it_is_refused(name: str, value: str) -> None:
    with suppress(UsageError):
        knobs = parse_knobs([f"{name}={value}"])
        assert knobs == {name: getattr(msgspec.convert({"batch_size": 1, **knobs}, Settings), name)}


def test_settings_at_their_defaults_are_not_written() -> None:
    assert format_knobs(Settings(batch_size=512, num_workers=4, precision="bf16")) == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("memory_format=channels_last", ("memory_format", "channels_last")),
        ("memory-format=channels-last", ("memory_format", "channels_last")),
        ("compile=reduce-overhead", ("compile", "reduce-overhead")),
        ("Cudnn-Benchmark = yes", ("cudnn_benchmark", True)),
        ("read_metrics=off", ("read_metrics", False)),
        ("accumulation_steps=2", ("accumulation_steps", 2)),
        ("threads=4", ("threads", 4)),
    ],
)
def test_names_and_values_may_be_written_with_either_dash(text: str, meant: tuple[str, Any]) -> None:
    assert parse_knob(text) == meant


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("compile=fast", "write compile=none|default|reduce-overhead|max-autotune"),
        ("cudnn_benchmark=maybe", "write cudnn_benchmark=true|false"),
        ("threads=0", "write threads=N, a whole number from 1"),
        ("tf32", "write tf32=none|convolutions|all"),
        ("tf32=", "write tf32=none|convolutions|all"),
        ("precision=bf16", "write --precision"),
        ("chanels_last=true", "there are "),
        ("memory_fromat=channels_last", "did you mean memory_format?"),
    ],
)
def test_a_mistake_is_answered_with_the_choices(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_knob(text)
    assert (caught.value.hint or "").startswith(hint)


def test_a_knob_is_set_only_once() -> None:
    with pytest.raises(UsageError, match="compile is set twice"):
        parse_knobs(["compile=default", "compile=none"])


def test_every_setting_can_be_given_in_one_way() -> None:
    assert set(KNOBS) | set(WITH_OPTIONS) == set(Settings.__struct_fields__)
    assert not set(KNOBS) & set(WITH_OPTIONS)
