"""What a process of a shared study does that has nothing to run, or no machine to run it on: it waits for others."""

import time
from typing import Any

from traindyno.app.pulling import pause_seconds
from traindyno.app.shared_runs import SharedRuns
from traindyno.core.events import Notice
from traindyno.core.units import count_of
from traindyno.runner.protocol import NowhereToRunError
from traindyno.runner.ray_runner import RayRunner

TICK_SECONDS = 0.1
NOTICE_SECONDS = 1.0
"""Who has waited so long says so."""
NOWHERE_SECONDS = 30.0
"""So long a process without a machine waits for others to take a trial, or to leave theirs."""
NOWHERE_POLL_SECONDS = 5.0
"""To look for a machine is to knock at all, where others may be measuring."""


class SharedWaiting(SharedRuns):
    """A study that this process runs beside others, and in which it may have to wait for them."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self._waits = self._planning_rests = False
        self._idle_since: float | None = None
        self._nowhere_since: float | None = None
        super().__init__(*given, **options)

    def _find_machine(self) -> None:
        """See that there is a machine for a trial now: who has none does not keep the trial from others."""
        if isinstance(self.workshop.runner, RayRunner):
            self.workshop.runner.facts()
        self._nowhere_since = None

    def _end_waiting(self) -> None:
        self._waits, self._idle_since = False, None

    def _leave_to_others(self, error: NowhereToRunError) -> None:
        """Whoever has no machine for its runs any more waits while others go on; alone, it says how to go on later."""
        if self._nowhere_since is None:
            self._context.emit(Notice(level="warning", text=f"{error.message}; waiting for what others make of it"))
        if self._nowhere_since is None or self.workshop.ledger.others_in(self.row.id, self._owner):
            self._nowhere_since = time.monotonic()
        if time.monotonic() - self._nowhere_since > NOWHERE_SECONDS:
            raise NowhereToRunError(error.message, f"when there is one, go on with `{self.resume_command}`") from error
        self._waits = True
        self._pause(NOWHERE_POLL_SECONDS)

    def _wait(self) -> None:
        """Others may die and leave their trials to us, or end them and make new ones possible."""
        now = time.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        idle_seconds = now - self._idle_since
        if idle_seconds > NOTICE_SECONDS and not self._waits:
            self._sight.count()
            others = count_of(self._sight.running.trials, "run")
            self._context.emit(Notice(level="info", text=f"waiting for {others} in other processes"))
            self._waits = True
        self._sight.is_fresh = False
        self._pause(pause_seconds(idle_seconds, self._sight.most_running, self._planning_rests))

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._stopped():
            time.sleep(min(TICK_SECONDS, left))
