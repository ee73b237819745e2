import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.sweeps import Sweep, parse_range, parse_sweep


@pytest.mark.parametrize(
    ("text", "sweep"),
    [
        ("16,32,64", Sweep(sizes=(16, 32, 64))),
        ("64, 16,16", Sweep(sizes=(16, 64))),
        ("16..1024", Sweep(smallest=16, largest=1024)),
        ("16..max", Sweep(smallest=16)),
        ("max", Sweep()),
        ("7", Sweep(sizes=(7,))),
    ],
)
def test_sweeps_are_read_as_people_write_them(text: str, sweep: Sweep) -> None:
    assert parse_sweep(text) == sweep


@pytest.mark.parametrize("text", ["", "a", "1,,2", "64..16", "0", "-4", "1..", "16...64", "99999999999"])
def test_mistakes_are_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sweep(text)
    assert caught.value.hint


@given(st.lists(st.integers(1, 2**31), min_size=1, max_size=8))
def test_any_list_of_sizes_is_read_back_sorted_and_once(sizes: list[int]) -> None:
    assert parse_sweep(",".join(map(str, sizes))).sizes == tuple(sorted(set(sizes)))


def test_a_range_has_both_of_its_ends() -> None:
    assert parse_range(" 64..512 ") == (64, 512)
    assert parse_range("64..64") == (64, 64)


@pytest.mark.parametrize("text", ["64", "64..", "64..max", "512..64", "0..8", "64-512"])
def test_what_is_no_range_is_refused_with_one(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_range(text)
    assert ".." in (caught.value.hint or "") or "start at 1" in (caught.value.hint or "")
