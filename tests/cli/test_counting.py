"""Progress of countable work: for terminals, for logs, and for those who want none."""

import io

import pytest

from traindyno.cli import counting
from traindyno.cli.counting import showing_count


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, quiet: bool = False) -> str:
    with showing_count("images", quiet, stream) as listener:
        listener.notice("it will take 3 GiB")
        listener.warn("they are small")
        for done in range(1, 101):
            listener.count(done, 100)
    return stream.getvalue()


def test_a_log_gets_a_line_for_each_tenth() -> None:
    lines = shown(io.StringIO()).splitlines()
    assert lines[:2] == ["it will take 3 GiB", "warning: they are small"]
    assert lines[2:] == [f"{tenth}0 of 100 images" for tenth in range(1, 11)]


def test_slow_work_gives_a_line_now_and_then_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 40))
    monkeypatch.setattr(counting.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    with showing_count("images", False, stream) as listener:
        listener.count(1, 1000)
        listener.count(2, 1000)
    assert stream.getvalue().splitlines() == [
        "1 of 1,000 images, about 11 h 06 min left",
        "2 of 1,000 images, about 11 h 05 min left",
    ]


def test_a_terminal_gets_a_bar_and_the_notices_above_it() -> None:
    text = shown(Terminal())
    assert "it will take 3 GiB" in text
    assert "warning: they are small" in text
    assert "100/100" in text


def test_the_quiet_hear_warnings_only() -> None:
    assert shown(io.StringIO(), quiet=True) == "warning: they are small\n"
