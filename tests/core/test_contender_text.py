"""Ways to train as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.contender_text import format_contender, parse_contender
from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.requests import Contender

COMMON = Settings(batch_size=32, num_workers=2)


def test_a_way_to_train_has_a_name_settings_and_perhaps_a_rate() -> None:
    found = parse_contender("large: batch-size=256, precision=bf16,lr=0.2", COMMON)
    assert found == Contender(
        label="large", settings=Settings(batch_size=256, precision="bf16", num_workers=2), learning_rate=0.2
    )


def test_without_a_rate_the_rule_decides() -> None:
    assert parse_contender("plain: compile=default", COMMON).learning_rate is None


@given(
    label=st.text("abc xyz019-", min_size=1).map(str.strip).filter(bool),
    size=st.integers(1, 4096),
    pinned=st.booleans(),
    precision=st.sampled_from(["fp32", "bf16", "fp16"]),
    rate=st.one_of(st.none(), st.floats(1e-8, 1e3).map(lambda rate: float(f"{rate:.6g}"))),
)
def test_what_is_written_is_read_back(label: str, size: int, pinned: bool, precision: str, rate: float | None) -> None:
    settings = Settings(batch_size=size, num_workers=2, pin_memory=pinned, precision=precision)  # type: ignore[arg-type]
    contender = Contender(label=label, settings=settings, learning_rate=rate)
    assert parse_contender(format_contender(contender, COMMON), COMMON) == contender


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("large", "there is no setting 'large'"),
        ("", "no way to train with settings"),
        ("large:", "no way to train with settings"),
        (": lr=0.1", "has an empty name"),
        ("a: device=cpu", "there is no setting 'device'"),
        ("a: batchsize=64", "there is no setting 'batchsize'"),
        ("a: lr=0", "'0' is no learning rate"),
        ("a: lr=quick", "'quick' is no learning rate"),
        ("a: batch_size=0", "batch_size cannot be '0'"),
        ("a: batch_size", "gives batch_size no value"),
        ("a: lr=0.1,lr=0.2", "a sets lr twice"),
    ],
)
def test_a_mistake_is_told_in_words(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_contender(text, COMMON)


def test_without_a_name_a_way_to_train_is_called_by_its_settings() -> None:
    found = parse_contender("batch=64,devices=2", COMMON)
    assert found == Contender(
        label="batch=64,devices=2", settings=Settings(batch_size=64, num_workers=2, devices=2), learning_rate=None
    )
    assert format_contender(parse_contender("devices=2", COMMON), COMMON) == "devices=2"
