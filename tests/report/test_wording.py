import math
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.report.wording import (
    clean,
    duration,
    duration_interval,
    half_width,
    memory_of_limit,
    one_line,
    rate,
    rate_interval,
    ratio_interval,
    ratio_range,
    share,
    share_interval,
    short_interval,
    signed_duration,
    signed_percent,
    size,
)

numbers = st.floats(min_value=1e-6, max_value=1e9)


@pytest.mark.parametrize("write", [rate, size, duration, share])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_unknown_reads_as_such(write: object, value: float | None) -> None:
    assert callable(write)
    assert write(value) == "n/a"


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (2257.0, (2250.0, 2266.0), "2,257 ± 9"),
        (59.2, (58.9, 59.4), "59.2 ± 0.3"),
        (2257.0, (2256.9, 2257.2), "2,257 ± 0.2"),
        (117.0, (116.5, 117.5), "117 ± 0.5"),
        (117.0, (115.5, 117.5), "117 ± 2"),
        (8.5, (math.nan, math.inf), "8.50"),
        (math.nan, (1.0, 2.0), "n/a"),
        (None, None, "n/a"),
    ],
)
def test_a_rate_carries_its_interval(value: float | None, interval: tuple[float, float] | None, text: str) -> None:
    assert rate_interval(value, interval) == text


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (43500.0, (43300.0, 43680.0), "12 h 05 min ± 3 min"),
        (43500.0, (36000.0, 43680.0), "12 h 05 min ± 2.1 h"),
        (2e6, (1.8e6, 2e6), "23 d 3 h ± 2.3 d"),
        (4.56, (4.5, 4.57), "4.56 s ± 60.0 ms"),
        (4.56, (4.56, 4.56), "4.56 s ± 0 s"),
    ],
)
def test_a_time_carries_its_interval(value: float, interval: tuple[float, float], text: str) -> None:
    assert duration_interval(value, interval) == text


def test_a_ratio_shows_the_ends_that_are_compared_with_one() -> None:
    assert ratio_interval(1.84, (1.80, 1.88)) == "1.84× (1.80 to 1.88)"
    assert ratio_interval(1.002, (0.998, 1.006)) == "1.002× (0.998 to 1.006)"
    assert ratio_interval(2.0, None) == "2.00×"
    assert ratio_interval(2.0, (0.0, math.inf)) == "2.00× ± over 100 %"
    assert ratio_interval(0.59, (0.21, 1.68)) == "0.59× ± over 100 %"
    assert ratio_range(0.59, (0.21, 1.68)) == "0.59× (0.21 to 1.68)"
    assert ratio_range(1.002, (0.998, 1.006)) == "1.002× (0.998 to 1.006)"
    assert ratio_range(2.0, (1.2, math.inf)) == "2.00× (from 1.20)"
    assert ratio_range(math.nan, (1.2, math.inf)) == "n/a"
    assert ratio_interval(None, None) == "n/a"


def test_memory_names_its_share_only_when_the_limit_is_known() -> None:
    assert memory_of_limit(2**30, 0.25) == "1.00 GiB (25 %)"
    assert memory_of_limit(2**30, None) == "1.00 GiB"


@given(numbers, numbers, numbers)
def test_value_and_half_width_always_contain_the_interval(value: float, below: float, above: float) -> None:
    half = half_width(value, (value - below, value + above))
    assert half is not None
    assert value - half <= value - below
    assert value + half >= value + above


@given(st.text(st.characters(codec=None)))
def test_clean_text_holds_nothing_that_moves_a_cursor(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in cleaned)
    cleaned.encode("utf-8")


def test_controls_halves_of_characters_and_turns_of_direction_are_all_that_is_taken_out() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    taken = {before for before, after in zip(everything, clean(everything), strict=True) if before != after}
    turns = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    assert taken == {
        character
        for character in everything
        if unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in turns
    } - {"\n", "\t"}


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_one_line_is_one_line_and_never_too_long(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.0383, (0.0379, 0.0388), "38.3 ± 0.5 ms"),
        (0.00011, (0.000107, 0.000112), "110 ± 3 µs"),
        (1.7, (1.6, 1.9), "1.70 ± 0.20 s"),
        (0.226, (0.1, 0.9), "226 ms ± over 100 %"),
        (90.0, (89.0, 91.0), "1 min 30 s ± 1.00 s"),
        (0.04, (math.nan, math.nan), "40.0 ms"),
        (math.nan, None, "n/a"),
    ],
)
def test_a_short_time_shares_its_unit_with_its_interval(
    value: float, interval: tuple[float, float] | None, text: str
) -> None:
    assert short_interval(value, interval) == text


def test_differences_keep_their_sign() -> None:
    assert signed_duration(-0.1875) == "-188 ms"
    assert signed_duration(0.1875) == "188 ms"
    assert signed_percent(0.031) == "+3.1 %"
    assert signed_percent(None) == "n/a"


def test_an_interval_of_shares_is_written_in_percent() -> None:
    assert share_interval((0.481, 0.549)) == "48 to 55 %"
    assert share_interval((0.012, 0.03)) == "1.2 to 3 %"
    assert share_interval((math.nan, 1.0)) == "n/a"
