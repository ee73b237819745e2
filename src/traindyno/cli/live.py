"""The live view: finished trials scroll by, the last line shows what runs now and how long it will take."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from traindyno.cli.sentences import describe_progress, describe_record, describe_spec
from traindyno.core.events import (
    Emit,
    Event,
    Notice,
    StudyFinished,
    StudyStarted,
    TrialFinished,
    TrialProgress,
    TrialStarted,
)
from traindyno.core.soaking import SOAKING
from traindyno.core.units import format_seconds

# Drawing costs processor time that the trial would like to have: twice a second is enough to look alive.
REFRESHES_PER_SECOND = 2


@contextmanager
def live_progress(stream: TextIO) -> Iterator[Emit]:
    console = Console(file=stream)
    view = LiveView(console)
    with Live(view, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True):
        yield view


class LiveView:
    """Draws itself from the last events it heard."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started: TrialStarted | None = None
        self._progress: TrialProgress | None = None
        self._remaining: float | None = None
        self._standing: str | None = None
        self._learning_from: tuple[float, int] | None = None
        self._finished_at = time.monotonic()
        self._spinner = Spinner("dots")

    def __call__(self, event: Event) -> None:
        match event:
            case StudyStarted():
                self._console.print(Text.assemble((event.title, "bold"), f"  study {event.study}"))
            case TrialStarted():
                self._started, self._progress, self._learning_from = event, None, None
            case TrialProgress():
                self._progress = event
                self._note_run(event)
            case TrialFinished():
                self._remaining, self._finished_at = event.remaining_seconds, time.monotonic()
                self._standing = event.standing
                self._console.print(_finished_line(event))
            case Notice(level="warning"):
                self._console.print(Text(f"warning: {event.text}", style="yellow"))
            case Notice():
                self._console.print(Text(event.text))
            case StudyFinished():
                self._started = None

    def _note_run(self, event: TrialProgress) -> None:
        """A long run tells its length, so that the time left is known from its first steps on."""
        if self._started is None:
            return
        spec, now = self._started.spec, time.monotonic()
        if event.phase == SOAKING and event.steps == 0:
            self._remaining, self._finished_at = spec.budget.seconds, now
        if event.planned_steps is not None:
            self._learning_from = self._learning_from or (now, event.steps)
            self._note_learning(event, event.planned_steps, now)

    def _note_learning(self, event: TrialProgress, planned_steps: int, now: float) -> None:
        """As its steps went so far; runs that are still to come are taken to be as long, until one has ended."""
        assert self._started is not None
        assert self._learning_from is not None
        began, first = self._learning_from
        later = max(0, self._started.expected_trials - self._started.ordinal)
        if event.steps > first and (later == 0 or self._started.ordinal == 1):
            steps_left = planned_steps - event.steps + later * planned_steps
            self._remaining, self._finished_at = steps_left * (now - began) / (event.steps - first), now

    def __rich__(self) -> RenderableType:
        if self._started is None:
            return Text("")
        return Group(self._now(), self._bar())

    def _now(self) -> RenderableType:
        assert self._started is not None
        doing = "starting" if self._progress is None else describe_progress(self._progress)
        self._spinner.update(text=Text(f" {describe_spec(self._started.spec)}: {doing}"))
        return self._spinner

    def _bar(self) -> RenderableType:
        assert self._started is not None
        done, total = self._started.ordinal - 1, self._started.expected_trials
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=total, completed=done, width=30)
        row.add_row(f"trial {done + 1} of about {total}", bar, self._eta(), self._standing or "")
        return row

    def _eta(self) -> str:
        if self._remaining is None:
            return ""
        left = self._remaining - (time.monotonic() - self._finished_at)
        return f"about {format_seconds(left)} left" if left > 1 else "nearly done"


def _finished_line(event: TrialFinished) -> Text:
    sign, style = (
        ("✓", "green") if event.record.ok else ("✗", "red" if not event.record.outcome.out_of_memory else "yellow")
    )
    return Text.assemble((f"{sign} ", style), f"{describe_spec(event.record.spec)}: {describe_record(event.record)}")
