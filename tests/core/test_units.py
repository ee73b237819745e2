import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.units import (
    bytes_word,
    count_of,
    format_bytes,
    format_rate,
    format_seconds,
    parse_bytes,
    parse_price,
    parse_seconds,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [("8GiB", 8 * 2**30), ("500 MB", 500 * 10**6), ("1.5kib", 1536), ("12", 12), ("2g", 2 * 10**9)],
)
def test_memory_is_read_as_people_write_it(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400), ("1e+12s", 1e12),
        ("5e-05s", 5e-5),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), ("0", 0.0), ("99.5 %", 0.995)])
def test_shares_are_read_as_people_write_them(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize(("text", "price"), [("3.5", 3.5), ("0", 0.0), (" 4 ", 4.0), ("1e-3", 0.001)])
def test_prices_are_read_as_people_write_them(text: str, price: float) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "-0.01", "1e999", "4 EUR", ""])
def test_what_nothing_can_cost_is_no_price(text: str) -> None:
    with pytest.raises(UsageError, match="is not a price") as caught:
        parse_price(text)
    assert "such as 3.5" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["9" * 400, "nan", "inf", "-1", "", "1e999"])
def test_what_has_no_end_or_is_below_nothing_is_neither_a_time_nor_memory(text: str) -> None:
    for parse, what in ((parse_seconds, "a duration"), (parse_bytes, "an amount of memory")):
        with pytest.raises(UsageError, match=f"is not {what}"):
            parse(text)


@pytest.mark.parametrize("text", ["8388608TiB", "99999999999999999999999"])
def test_memory_that_no_counter_holds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not an amount of memory"):
        parse_bytes(text)


@given(st.text(max_size=12))
def test_any_text_is_either_read_or_refused_with_an_example(text: str) -> None:
    for parse in (parse_bytes, parse_seconds, parse_share, parse_price):
        hint = None
        try:
            value = parse(text)
        except UsageError as error:
            value, hint = 0, error.hint
        assert value > 0 or hint or "0" in text


@given(st.integers(0, 2**60))
def test_what_is_printed_as_memory_reads_back_within_a_percent(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == pytest.approx(count, rel=0.01, abs=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "n/a"),
        (float("nan"), "n/a"),
        (0.000012, "12.0 µs"),
        (0.0179, "17.9 ms"),
        (4.564, "4.56 s"),
        (750, "12 min 30 s"),
        (11100, "3 h 05 min"),
        (187200, "2 d 4 h"),
    ],
)
def test_durations_are_printed_in_the_unit_a_person_would_choose(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


def test_rates_carry_as_many_digits_as_mean_something() -> None:
    assert [format_rate(rate) for rate in (2214.4, 92.26, 0.4567)] == ["2,214", "92.3", "0.457"]


@pytest.mark.parametrize(
    ("number", "what", "words"),
    [
        (1, "step", "1 step"),
        (1.0, "epoch", "1 epoch"),
        (0.5, "epoch", "0.5 epochs"),
        (1200, "step", "1,200 steps"),
        (2, "fresh process", "2 fresh processes"),
    ],
)
def test_one_is_no_plural(number: float, what: str, words: str) -> None:
    assert count_of(number, what) == words


@given(st.integers(0, 2**50))
def test_memory_as_an_option_takes_it_reads_back_to_the_byte(count: int) -> None:
    assert parse_bytes(bytes_word(count)) == count


def test_whole_units_of_memory_are_written_as_a_person_would() -> None:
    assert [bytes_word(count) for count in (2 << 30, 1536 << 20, 1000, 0)] == ["2GiB", "1536MiB", "1000", "0"]
