"""The seam between a study and whatever executes its trials."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from traindyno.core.base import Record
from traindyno.core.errors import TraindynoError
from traindyno.core.events import TrialProgress
from traindyno.core.records import TrialRecord, TrialSpec


class Deadlines(Record, frozen=True):
    """How long each part of a trial may take, in seconds of the monotonic clock.

    A step may also take `patience` times as long as the longest step so far: large batches on a slow processor are
    slow, not hung.
    """

    start_up: float = 300.0
    first_step: float = 600.0
    step: float = 120.0
    trial: float = 3600.0
    patience: float = 10.0


class Watcher:
    """What a runner tells while a trial runs. Every method may be overridden; none must raise."""

    def progress(self, progress: TrialProgress) -> None:
        """A phase began or a step ended."""

    def tick(self, now: float, pid: int | None) -> None:
        """Called several times a second, for sampling beside the trial."""

    def should_stop(self) -> bool:
        """Whether the trial is to be ended now: the user or the time budget says so."""
        return False


class NowhereToRunError(TraindynoError):
    """No machine is there now on which the trial may run; what has finished is kept."""


class Runner(Protocol):
    """Executes one trial at a time and always comes back with a record of how it ended."""

    simulated: bool

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        """Run one trial; what it prints goes to `log_path`, and only its end is kept where that is null."""
        ...

    def close(self) -> None: ...


Clock = Callable[[], float]
