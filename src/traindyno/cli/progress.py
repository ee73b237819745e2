"""Progress on stderr: a live view on a terminal, one plain line per trial elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click

from traindyno.cli.sentences import describe_finish, describe_progress, describe_start
from traindyno.core.events import (
    Emit,
    Event,
    Notice,
    StudyStarted,
    TrialFinished,
    TrialProgress,
    TrialStarted,
)
from traindyno.core.learning import LEARNING
from traindyno.core.soaking import SOAKING
from traindyno.core.units import count_of

LINE_SECONDS = 60.0


@contextmanager
def showing_progress(*, quiet: bool, verbose: bool, stream: TextIO | None = None) -> Iterator[Emit]:
    """Give an event listener that fits the terminal and the user's wishes."""
    stream = stream or sys.stderr
    if quiet:
        yield unbreakable(QuietProgress(stream))
    elif stream.isatty() and not verbose:
        from traindyno.cli.live import live_progress

        with live_progress(stream) as emit:
            yield unbreakable(emit)
    else:
        yield unbreakable(PlainProgress(stream, verbose))


def unbreakable(emit: Emit) -> Emit:
    """A reader of stderr who goes away, as `2>&1 | head` does, must not end the measurement."""

    def emit_if_heard(event: Event) -> None:
        with suppress(BrokenPipeError):
            emit(event)

    return emit_if_heard


class QuietProgress:
    """Warnings only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning":
            click.secho(f"warning: {event.text}", fg="yellow", file=self._stream)


class PlainProgress(QuietProgress):
    """One line per trial; with `-v` also every phase and the reason for each trial."""

    def __init__(self, stream: TextIO, verbose: bool) -> None:
        super().__init__(stream)
        self._verbose = verbose
        self._phase = ""
        self._told_at = 0.0

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        match event:
            case StudyStarted():
                again = f", {count_of(event.resumed_trials, 'trial')} kept" if event.resumed_trials else ""
                self._line(f"{event.title} (study {event.study}{again})")
            case TrialStarted() if self._verbose:
                self._line(f"  start: {describe_start(event)}")
            case TrialProgress():
                self._tell(event)
            case TrialFinished():
                self._line(describe_finish(event))
                if self._verbose and event.record.failure is not None:
                    self._line(f"    {event.record.failure.message}")
            case Notice(level="info"):
                self._line(event.text)

    def _tell(self, event: TrialProgress) -> None:
        """Phases if they are wanted; of a long run a line each minute, as it would else be silent."""
        began = event.phase != self._phase
        self._phase = event.phase
        self._told_at = event.seconds if began else self._told_at
        long_ago = event.seconds - self._told_at >= LINE_SECONDS
        if (began and self._verbose) or (long_ago and event.phase in (SOAKING, LEARNING)):
            self._told_at = event.seconds
            self._line(f"    {describe_progress(event)}")

    def _line(self, text: str) -> None:
        click.echo(text, file=self._stream)
