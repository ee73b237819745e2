"""Progress of work that can be counted: a bar with the time left on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import click

from traindyno.app.data_answers import Listener
from traindyno.core.errors import StoppedError
from traindyno.core.units import format_seconds

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_SHARE = 0.1
LINE_SECONDS = 30.0


@contextmanager
def working(noun: str, quiet: bool) -> Iterator[tuple[Listener, Callable[[], bool]]]:
    """Progress and Ctrl-C for the block. A second Ctrl-C ends it at once; files are whole or absent even so."""
    from traindyno.app.interrupts import catching_interrupts

    try:
        with catching_interrupts() as interrupts, showing_count(noun, quiet) as listener:
            yield listener, interrupts
    except KeyboardInterrupt:
        raise StoppedError("stopped", "what is done is kept: repeat the command to go on") from None


@contextmanager
def showing_count(noun: str, quiet: bool, stream: TextIO | None = None) -> Iterator[Listener]:
    """Give a listener that fits the terminal and the user's wishes. `noun` says what is counted."""
    stream = stream or sys.stderr
    if quiet:
        yield QuietCount(stream)
    elif not stream.isatty():
        yield PlainCount(stream, noun)
    else:
        with _bar(stream) as bar:
            yield BarCount(bar, noun)


class QuietCount:
    """Warnings only. A reader of stderr who goes away does not end the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def notice(self, text: str) -> None:
        pass

    def warn(self, text: str) -> None:
        with suppress(BrokenPipeError):
            click.secho(f"warning: {text}", fg="yellow", file=self._stream)

    def count(self, done: int, total: int) -> None:
        pass


class PlainCount(QuietCount):
    """A line for each tenth of the work, and after half a minute without one."""

    def __init__(self, stream: TextIO, noun: str) -> None:
        super().__init__(stream)
        self._noun = noun
        self._began = self._told_at = time.monotonic()
        self._told = 0

    def notice(self, text: str) -> None:
        with suppress(BrokenPipeError):
            click.echo(text, file=self._stream)

    def count(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and done - self._told < LINE_SHARE * total and now - self._told_at < LINE_SECONDS:
            return
        self._told, self._told_at = done, now
        left = (now - self._began) / done * (total - done)
        self.notice(
            f"{done:,} of {total:,} {self._noun}" + (f", about {format_seconds(left)} left" if left >= 1 else "")
        )


class BarCount:
    """A bar that stays on the last line; notices scroll by above it."""

    def __init__(self, bar: "Progress", noun: str) -> None:
        self._bar = bar
        self._task = bar.add_task(noun, total=None)

    def notice(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)

    def warn(self, text: str) -> None:
        self._bar.console.print(f"warning: {text}", style="yellow", highlight=False, markup=False)

    def count(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)


def _bar(stream: TextIO) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(compact=True),
        console=Console(file=stream),
        transient=True,
    )
