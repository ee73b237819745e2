import re
from datetime import UTC, datetime
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from traindyno.store.names import check_name, proposed_names, unknown_name


@given(st.text(max_size=80), st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))
def test_every_proposed_name_is_allowed_and_new(command: str, moment: datetime) -> None:
    names = list(islice(proposed_names(command, moment), 5))
    assert len({check_name(name) for name in names}) == 5


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True))
def test_every_name_of_the_documented_form_is_allowed(name: str) -> None:
    assert check_name(name) == name


def test_near_names_are_proposed_and_far_ones_are_not() -> None:
    hint = str(unknown_name("trhoughput-1", ["loader-7", "throughput-1"]).hint)
    assert re.search("did you mean throughput-1", hint)
    assert "loader" not in hint


def test_without_a_near_name_the_newest_are_listed() -> None:
    hint = str(unknown_name("zzz", ["d", "c", "b", "a"]).hint)
    assert "d, c, b;" in hint
    assert "traindyno studies" in hint


def test_in_an_empty_store_another_store_is_proposed() -> None:
    assert "--store" in str(unknown_name("a", []).hint)
