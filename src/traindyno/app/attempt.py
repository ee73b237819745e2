"""One trial in this process's hands: run, watched, and its result kept or the trial given back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from traindyno.app.checkpoints import DAMAGED, forget_checkpoints, with_checkpoints
from traindyno.app.context import Context
from traindyno.app.sources import relocated
from traindyno.app.watching import StudyWatcher
from traindyno.app.workshop import Workshop
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Notice
from traindyno.core.outcomes import Outcome, remedy_without_log
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.runner.protocol import Runner, Watcher
from traindyno.store.ledger import Lease

LEASE_SECONDS = 120.0
OWN_WORDS = ("TraindynoError", "DoesNotApplyError", "NotSharedError", "BadBatchError", "BadExampleError", DAMAGED)
"""Errors whose message says all: a traceback would show nothing of the user's code."""
REPEATABLE = (Outcome.INTERRUPTED, Outcome.KILLED, Outcome.INFRASTRUCTURE)


class TrialFailedError(TraindynoError):
    """The user's own code or data stopped the study; the traceback is theirs."""

    def __init__(self, record: TrialRecord) -> None:
        assert record.failure is not None
        failure = record.failure
        super().__init__(failure.message, failure.remedy)
        self.record = record
        usage = failure.error_type in ("UsageError", "NothingToLoadError")
        ours = usage or failure.error_type in OWN_WORDS
        self.traceback = None if ours else failure.traceback
        self.exit_code = 2 if usage else 1


@dataclass(frozen=True)
class Attempt:
    """A leased trial of the study `study`. Whoever has it calls `run`, and then `keep` or `give_back`."""

    workshop: Workshop
    context: Context
    study: str
    lease: Lease
    spec: TrialSpec
    log: Path

    def run(self, should_stop: Callable[[], bool], renew: Callable[[Lease], None]) -> TrialRecord:
        """The trial's end, whatever it is. A trial that cannot be run at all is given back."""
        watcher = StudyWatcher(
            self.workshop,
            self.context,
            should_stop,
            lambda: renew(self.lease),
            takes_readings=self.spec.kind == "soak",
        )
        try:
            record = self._run(watcher)
        except BaseException:
            self.give_back()
            raise
        return msgspec.structs.replace(
            _with_log(record, self.log),
            measurement=None if _is_half(record, self.spec) else record.measurement,
            spec=self.spec,
            conditions=record.conditions if record.conditions.machine is not None else watcher.conditions(),
            series=record.series or watcher.series(),
        )

    def run_beside(self, runner: Runner, watcher: Watcher) -> TrialRecord:
        """The trial's end on another runner, while others run on theirs: what the machine does meanwhile tells nothing.

        Not for trials that go on from checkpoints.
        """
        record = runner.run(self._here(self.spec), watcher, self.log)
        return msgspec.structs.replace(_with_log(record, self.log), spec=self.spec)

    def keep(self, record: TrialRecord) -> None:
        """Commit the result; the state of a run that is over is of no use any more."""
        self.workshop.ledger.commit(self.lease, record)
        if record.outcome not in REPEATABLE:
            forget_checkpoints(self.workshop, self.study, self.spec)

    def give_back(self) -> None:
        """Leave the trial to whoever comes."""
        self.workshop.ledger.release(self.lease)

    def _run(self, watcher: StudyWatcher) -> TrialRecord:
        """One trial. State that only the study kept, and that is damaged, is given up with a word: it costs time alone.

        What the user trains for is not: whoever asked for one long run decides whether it begins anew, and what it had
        told before stays told.
        """
        spec = self._here(with_checkpoints(self.workshop, self.study, self.spec))
        record = self.workshop.runner.run(spec, watcher, self.log)
        if record.failure is None or record.failure.error_type != DAMAGED:
            return record
        if self.spec.checkpoints is not None:
            raise TrialFailedError(record)
        forget_checkpoints(self.workshop, self.study, self.spec)
        self.context.emit(Notice(level="warning", text=f"{record.failure.message}; this trial begins anew"))
        return self.workshop.runner.run(spec, watcher, self.log)

    def _here(self, spec: TrialSpec) -> TrialSpec:
        """The trial with its code where that lies now, and one of a round on the device of whoever has it now."""
        spec = relocated(spec, self.context.moved)
        if spec.draw is None:
            return spec
        settings = msgspec.structs.replace(spec.settings, device=self.workshop.bench.device)
        return msgspec.structs.replace(spec, settings=settings)


def _is_half(record: TrialRecord, asked: TrialSpec) -> bool:
    """A run that was cut short must not be counted among whole ones; one that is alone in its study tells of itself."""
    return record.outcome is Outcome.INTERRUPTED and record.spec.kind == "learn" and asked.checkpoints is None


def _with_log(record: TrialRecord, log: Path) -> TrialRecord:
    """A remedy that says to read the log also says where it is; where there is none, it does not say so."""
    failure = record.failure
    if failure is None or "the log" not in failure.remedy:
        return record
    told = f"{failure.remedy} It is {log}." if log.exists() else remedy_without_log(failure.outcome, failure.remedy)
    return msgspec.structs.replace(record, failure=msgspec.structs.replace(failure, remedy=told))
