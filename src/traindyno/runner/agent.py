"""The other machine's side: wait for the head's orders, run its trials, and end them when the head is gone."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec
from traindyno.core.units import format_seconds
from traindyno.runner.node_link import Link, LinkLostError, NotUnderstoodError
from traindyno.runner.node_messages import Ended, Farewell, Halt, Hello, Order, Refusal, Welcome
from traindyno.runner.protocol import Runner, Watcher

TICK_SECONDS = 0.1
PAUSE_SECONDS = 0.5
"""Before a head that hangs up on everybody is called again."""
Parting = Literal["over", "lost", "stopped"]


class RefusedError(TraindynoError):
    """The head does not want this machine; `for_good` where trying again is of no use."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"the head has sent this machine away: {refusal.message}", refusal.hint)
        self.for_good = refusal.for_good


class Agent:
    """Runs what one head asks for.

    `runner_for` opens the runner of its trials, `here` gives a trial as it is to be run on this machine and refuses
    what the user of this machine has not allowed, and `tell` hears in words what happens.
    """

    def __init__(
        self,
        hello: Hello,
        runner_for: Callable[[Welcome], AbstractContextManager[Runner]],
        here: Callable[[TrialSpec], TrialSpec],
        tell: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self._hello, self._runner_for, self._here = hello, runner_for, here
        self._tell, self._should_stop = tell, should_stop

    def serve(self, link: Link) -> Parting:
        """Until the head says that it is over, is lost, or the user wants to stop."""
        try:
            welcome = self._introduced(link)
            self._tell(f"the head has taken this machine in as node {welcome.node} of {welcome.nodes}")
            with self._runner_for(welcome) as runner:
                return self._obey(link, runner)
        except LinkLostError as error:
            self._tell(f"the head is gone: {error}")
            time.sleep(PAUSE_SECONDS)
            return "lost"
        finally:
            link.close()

    def _introduced(self, link: Link) -> Welcome:
        link.send(self._hello)
        try:
            message = link.receive()
        except NotUnderstoodError as error:
            raise TraindynoError(
                f"this head has another version of traindyno: {error}", "install the same version on all machines"
            ) from None
        if isinstance(message, Refusal):
            raise RefusedError(message)
        if not isinstance(message, Welcome):
            raise LinkLostError("it did not greet")
        return message

    def _obey(self, link: Link, runner: Runner) -> Parting:
        while not self._should_stop():
            message = link.receive_within(TICK_SECONDS)
            if isinstance(message, Farewell):
                return "over"
            if isinstance(message, Order):
                watcher = _Listening(link, self._should_stop)
                record = self._run(message.spec, runner, watcher)
                if watcher.lost is not None:
                    raise LinkLostError(watcher.lost)
                if watcher.over or self._should_stop():
                    return "over" if watcher.over else "stopped"
                link.send(Ended(record=record))
            link.keep()
        return "stopped"

    def _run(self, spec: TrialSpec, runner: Runner, watcher: "_Listening") -> TrialRecord:
        try:
            record = runner.run(self._here(spec), watcher, None)
        except TraindynoError as error:
            record = _not_run(spec, error)
        self._tell(_words(record))
        return record


def _not_run(spec: TrialSpec, error: TraindynoError) -> TrialRecord:
    outcome = Outcome.USER_ERROR if isinstance(error, UsageError) else Outcome.INFRASTRUCTURE
    failure = Failure(
        outcome=outcome,
        message=error.message,
        remedy=error.hint or REMEDIES[outcome],
        error_type=type(error).__name__,
        phase="start",
    )
    return TrialRecord(spec=spec, outcome=outcome, seconds=0.0, failure=failure)


def _words(record: TrialRecord) -> str:
    if record.failure is None:
        return f"a trial ended well after {format_seconds(record.seconds)}"
    return f"a trial ended after {format_seconds(record.seconds)}: {record.failure.message}"


class _Listening(Watcher):
    """Keeps the line to the head while a trial runs, and ends the trial with it."""

    def __init__(self, link: Link, should_stop: Callable[[], bool]) -> None:
        self._link, self._should_stop = link, should_stop
        self.lost: str | None = None
        self.over = self._halted = False

    def tick(self, now: float, pid: int | None) -> None:
        if self.lost is not None:
            return
        try:
            while (message := self._link.receive_within(0.0)) is not None:
                self.over = self.over or isinstance(message, Farewell)
                self._halted = self._halted or isinstance(message, Farewell | Halt)
            self._link.keep()
        except LinkLostError as error:
            self.lost = str(error)

    def should_stop(self) -> bool:
        return self._halted or self.lost is not None or self._should_stop()
