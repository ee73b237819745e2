"""Where names are broken that are too long for their column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.find_documents import find_document
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.console_words import longest, unbroken, wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "precision=bf16 and memory_format=channels_last",
            ["precision=bf16", "and", "memory_format=", "channels_last"],
        ),
        ("num_workers=15, persistent_workers=on", ["num_workers=15,", "persistent_", "workers=on"]),
        ("data=prepared:/fast/imagenet", ["data=prepared:/", "fast/imagenet"]),
        ("a=1,b=2,c=3,d=4,e=5", ["a=1,b=2,c=3,d=4,", "e=5"]),
    ],
)
def test_a_name_longer_than_its_line_is_broken_where_its_parts_are_joined(text: str, lines: list[str]) -> None:
    assert wrapped(text, 16).splitlines() == lines


def test_what_fits_is_left_as_it_is() -> None:
    assert wrapped("compile=default  and more words", 16) == "compile=default  and more words"


@given(st.text("ab=,/:_ 漢", max_size=80), st.integers(1, 20))
def test_nothing_is_lost_and_lines_are_too_long_only_where_a_part_is(text: str, width: int) -> None:
    shown = wrapped(text, width)
    assert "".join(shown.split()) == "".join(text.split())
    if longest(text.split()) > width:
        assert all(longest([line]) <= width or not set("=,/:_") & set(line[:-1]) for line in shown.splitlines())


def test_a_column_is_never_narrower_than_the_parts_of_its_names() -> None:
    assert unbroken("data=prepared:/fast/imagenet 12,345") == ["data=", "prepared:", "/", "fast/", "imagenet", "12,345"]


def test_settings_in_a_narrow_terminal_are_not_broken_within_a_word() -> None:
    lines = [line.split("  ")[0] for line in render_console(find_document(), width=60).splitlines()]
    at = lines.index("optimizer_")
    assert lines[at : at + 3] == ["optimizer_", "kernel=fused", "batch_size=512"]
