"""Driving a study: ask the strategy, run the trial, commit its outcome, and so on until there is an answer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from traindyno.analysis.probes import counts, not_applicable
from traindyno.app.checkpoints import DAMAGED, forget_checkpoints, with_checkpoints
from traindyno.app.context import Context
from traindyno.app.cut_short import kept_beside, new_notes, run_seconds, where_time_went, without_cut
from traindyno.app.preparing import PREPARING
from traindyno.app.sources import relocated
from traindyno.app.watching import StudyWatcher
from traindyno.app.workshop import Workshop
from traindyno.core.codec import plain
from traindyno.core.errors import BudgetSpentError, StoppedError, TraindynoError, UsageError
from traindyno.core.events import Notice, StudyFinished, StudyStarted, TrialFinished, TrialStarted
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Request, TrainRequest
from traindyno.core.resuming import resume_command
from traindyno.search.strategy import Proposal, Strategy
from traindyno.store.ledger import Lease, StudyRow, StudyState, owner_here

LEASE_SECONDS = 120.0
SHORTEST_SECONDS = 60.0
"""A budget shorter than this is rarely long enough for anything."""
RETRIES = 2
REPEATABLE = (Outcome.INTERRUPTED, Outcome.KILLED, Outcome.INFRASTRUCTURE)


class TrialFailedError(TraindynoError):
    """The user's own code or data stopped the study; the traceback is theirs."""

    def __init__(self, record: TrialRecord) -> None:
        assert record.failure is not None
        failure = record.failure
        super().__init__(failure.message, failure.remedy)
        self.record = record
        usage = failure.error_type in ("UsageError", "NothingToLoadError")
        ours = usage or failure.error_type in ("TraindynoError", "DoesNotApplyError", "BadBatchError", DAMAGED)
        self.traceback = None if ours else failure.traceback
        self.exit_code = 2 if usage else 1


class Study:
    """One study in the ledger, held by this process while it runs."""

    def __init__(self, workshop: Workshop, row: StudyRow, context: Context, title: str) -> None:
        self.row, self.workshop, self.title = row, workshop, title
        self._context = context
        self._owner = owner_here()
        self._start = time.monotonic()
        committed = workshop.ledger.trials(row.id)
        self._done = _settled(committed)
        self._cut_short = [record for record in committed if record.outcome is Outcome.INTERRUPTED]
        self._resumed = len(self._done)
        self._resumed_seconds = sum(record.seconds for record in self._done)
        self.cut: str | None = None
        self._gained = False
        self._cut_phase: str | None = None

    @property
    def records(self) -> list[TrialRecord]:
        return self._done

    @property
    def resume_command(self) -> str:
        """What to type to go on: code of the user's own must be named again, and the store must be the same.

        A time budget in which nothing was gained is not proposed again.
        """
        if self.cut == "budget" and not self._gained:
            return self.longer_command
        return self.resume_within(self._context.time_budget_seconds)

    def resume_within(self, budget_seconds: float | None) -> str:
        """The same with a time budget for the rest."""
        budget = [] if budget_seconds is None else ["--time-budget", _typed(budget_seconds)]
        return f"{resume_command(self.row.name, self.row.request, self._context.moved, *budget)}{self.store_option}"

    @property
    def longer_command(self) -> str:
        """What to type to go on with more time than there was: twice as much, and a minute at least."""
        budget = self.workshop.bench.time_budget_seconds
        return self.resume_within(None if budget is None else max(SHORTEST_SECONDS, 2 * budget))

    @property
    def store_option(self) -> str:
        return self._context.store_option

    @property
    def seconds(self) -> float:
        """Time spent on the study, including earlier parts of a resumed one."""
        return self._resumed_seconds + time.monotonic() - self._start

    @property
    def seconds_left(self) -> float | None:
        """What is left of the time budget; null where there is none."""
        budget = self.workshop.bench.time_budget_seconds
        return None if budget is None else max(0.0, budget - (time.monotonic() - self._start))

    def drive(
        self,
        strategy: Strategy,
        belongs: Callable[[TrialRecord], bool] = lambda _: True,
        stops: Callable[[TrialRecord], bool] | None = None,
    ) -> list[TrialRecord]:
        """Follow one strategy to its end, or to a trial that `stops` it.

        `belongs` picks its own trials from a study with several.
        """
        stops = stops or stops_study
        history = [record for record in self._done if belongs(record)]
        of_others = len(self._done) - len(history)
        while self.cut is None and (proposal := strategy.ask(history)) is not None:
            record = self._measure(
                msgspec.structs.replace(proposal, expected_trials=of_others + proposal.expected_trials)
            )
            if record is None:
                break
            history.append(record)
            self._done.append(record)
            if stops(record):
                raise TrialFailedError(record)
        return history

    def _measure(self, proposal: Proposal) -> TrialRecord | None:
        """One proposal, run until it has an ending that says something about the settings."""
        for attempt in range(1 + RETRIES):
            if self._stopped():
                return None
            record = self._attempt(proposal)
            if record.outcome is Outcome.INTERRUPTED:
                self._stopped()
                return record if record.measurement is not None else None
            failure = record.failure
            if failure is None or record.outcome not in REPEATABLE or attempt == RETRIES:
                return record
            if failure.phase == PREPARING:
                return record
            self._context.emit(Notice(level="warning", text=f"{failure.message}; trying once more"))
        raise AssertionError("the last attempt always returns")

    def _attempt(self, proposal: Proposal) -> TrialRecord:
        ledger, ordinal = self.workshop.ledger, len(self._done) + 1
        trial_id = ledger.enqueue(self.row.id, proposal.spec, ordinal)
        goes_on = proposal.spec.checkpoints is not None
        lease = ledger.lease(trial_id, self._owner, LEASE_SECONDS, goes_on=goes_on)
        if lease is None:
            raise TraindynoError(
                f"trial {ordinal} of study {self.row.name!r} is held by another process",
                "wait until that run has ended",
            )
        expected = max(proposal.expected_trials, ordinal)
        self._context.emit(
            TrialStarted(ordinal=ordinal, expected_trials=expected, spec=proposal.spec, reason=proposal.reason)
        )
        watcher = StudyWatcher(
            self.workshop,
            self._context,
            self._stopped,
            lambda: self._renew(lease),
            takes_readings=proposal.spec.kind == "soak",
        )
        log = self.workshop.log_folder / self.row.name / f"{ordinal:04d}.log"
        try:
            record = self._run(proposal.spec, watcher, log)
        except BaseException:
            ledger.release(lease)
            raise
        self._note_cut(record)
        record = msgspec.structs.replace(
            _with_log(record, log),
            measurement=None if _is_half(record, proposal.spec) else record.measurement,
            spec=proposal.spec,
            conditions=watcher.conditions(),
            series=record.series or watcher.series(),
        )
        if (longer := self._longer_before(record)) is None:
            ledger.commit(lease, record)
            if record.outcome not in REPEATABLE:
                forget_checkpoints(self.workshop, self.row.name, proposal.spec)
        else:
            ledger.release(lease)
            record = self._kept(longer, record)
        self._context.emit(
            TrialFinished(
                ordinal=ordinal,
                expected_trials=expected,
                record=record,
                remaining_seconds=self._remaining(expected, record),
            )
        )
        return record

    def _run(self, asked: TrialSpec, watcher: StudyWatcher, log: Path) -> TrialRecord:
        """One trial. State that only the study kept, and that is damaged, is given up with a word: it costs time alone.

        What the user trains for is not: whoever asked for one long run decides whether it begins anew, and what it had
        told before stays told.
        """
        spec = relocated(with_checkpoints(self.workshop, self.row.name, asked), self._context.moved)
        record = self.workshop.runner.run(spec, watcher, log)
        if record.failure is None or record.failure.error_type != DAMAGED:
            return record
        if asked.checkpoints is not None:
            self.cut = "refused"
            raise TrialFailedError(record)
        forget_checkpoints(self.workshop, self.row.name, asked)
        self._context.emit(Notice(level="warning", text=f"{record.failure.message}; this trial begins anew"))
        return self.workshop.runner.run(spec, watcher, log)

    def _note_cut(self, record: TrialRecord) -> None:
        """Remember whether anything was gained, and where the trial was that was cut short."""
        if record.outcome is not Outcome.INTERRUPTED or record.measurement is not None:
            self._gained = True
        else:
            self._cut_phase = None if record.failure is None else record.failure.phase

    def _kept(self, longer: TrialRecord, record: TrialRecord) -> TrialRecord:
        """The longer run, with what the shorter one has to say."""
        self._gained = False
        for text in ("cut short again; the longer run from before is kept", *new_notes(longer, record)):
            self._context.emit(Notice(level="warning", text=text))
        return kept_beside(longer, record)

    def _longer_before(self, record: TrialRecord) -> TrialRecord | None:
        """The same trial from before the study was resumed, if that too was cut short and yet told of more."""
        if record.outcome is not Outcome.INTERRUPTED:
            return None
        before = [earlier for earlier in self._cut_short if earlier.spec.key == record.spec.key]
        return next((earlier for earlier in before if run_seconds(earlier) > run_seconds(record)), None)

    def _remaining(self, expected: int, latest: TrialRecord) -> float:
        """As trials went so far, but no longer than the time budget."""
        seconds = [record.seconds for record in self._done[self._resumed :]] + [latest.seconds]
        left = max(0, expected - len(self._done) - 1)
        needed, allowed = left * sum(seconds) / len(seconds), self.seconds_left
        return needed if allowed is None else min(needed, allowed)

    def _renew(self, lease: Lease) -> None:
        kept = self.workshop.ledger.renew_study(self.row.name, self._owner, LEASE_SECONDS)
        if not (self.workshop.ledger.renew(lease, LEASE_SECONDS) and kept):
            raise TraindynoError(
                f"another process has taken over study {self.row.name!r}", f"see `traindyno show {self.row.name}`"
            )

    def _stopped(self) -> bool:
        """Whether to end now; the reason is remembered."""
        if self._context.should_stop():
            self.cut = "interrupted"
        elif self.seconds_left == 0:
            self.cut = "budget"
        return self.cut is not None

    def cut_before(self, result: str) -> TraindynoError | None:
        """The error to raise when the study was cut short before it had any `result`."""
        if self.cut == "budget":
            message = f"the time budget ended before any {result}{self._where_time_went}"
            return BudgetSpentError(message, self.longer_command)
        if self.cut == "interrupted":
            return StoppedError(f"stopped before any {result}", self.resume_command)
        return None

    @property
    def _where_time_went(self) -> str:
        if self._cut_phase is None or self._gained or not isinstance(self.row.request, TrainRequest):
            return ""
        return f": {where_time_went(self._cut_phase)}"

    def finish(self, answer: Any, warnings: tuple[str, ...] = ()) -> str:
        """Write the answer, or what there is of it; return the study's state."""
        state: StudyState = "done" if self.cut is None else "interrupted"
        self.workshop.ledger.finish(self.row.name, state, plain(answer), warnings, owner=self._owner)
        self._context.emit(StudyFinished(study=self.row.name, state=state, seconds=self.seconds))
        return state


def _settled(committed: list[TrialRecord]) -> list[TrialRecord]:
    """The trials that a resumed study takes as they are.

    One that was killed, or could not start, is tried again if it is the last: the study may have ended by it. If the
    study went on after it, it had given up trying, and what came later rests on that. A run with checkpoints of its
    own goes on from them, however it ended before its end.
    """
    told = [record for record in committed if record.outcome is not Outcome.INTERRUPTED]
    return told[:-1] if told and (told[-1].outcome in REPEATABLE or _goes_on(told[-1])) else told


def _goes_on(record: TrialRecord) -> bool:
    return record.spec.checkpoints is not None and not record.ok


def _typed(seconds: float) -> str:
    """A duration as people type it: `20m`, `90s`."""
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:.12g}s"


def _is_half(record: TrialRecord, asked: TrialSpec) -> bool:
    """A run that was cut short must not be counted among whole ones; one that is alone in its study tells of itself."""
    return record.outcome is Outcome.INTERRUPTED and record.spec.kind == "learn" and asked.checkpoints is None


def _with_log(record: TrialRecord, log: Path) -> TrialRecord:
    """A remedy that says to read the log also says where it is."""
    if record.failure is None or "the log" not in record.failure.remedy or not log.exists():
        return record
    failure = msgspec.structs.replace(record.failure, remedy=f"{record.failure.remedy} It is {log}.")
    return msgspec.structs.replace(record, failure=failure)


@contextmanager
def open_study(workshop: Workshop, context: Context, request: Request, title: str) -> Iterator[Study]:
    """Create the study, or take up the one to resume; it is released whatever happens."""
    ledger, owner = workshop.ledger, owner_here()
    command = str(request.__struct_config__.tag)
    if context.resume is None:
        row = ledger.create_study(context.name, command, request, workshop.machine)
    else:
        row = ledger.study(context.resume)
        _same_machine(row, workshop)
    ledger.claim_study(row.name, owner, LEASE_SECONDS)
    _forget_cut(workshop, row, owner)
    study = Study(workshop, row, context, title)
    resumed = len(study.records)
    context.emit(StudyStarted(study=row.name, command=command, title=title, resumed_trials=resumed))
    try:
        yield study
    except TraindynoError as error:
        if study.cut is None:
            _note_failure(study, error, owner)
        raise
    finally:
        with suppress(TraindynoError):
            ledger.release_study(row.name, owner)


def _forget_cut(workshop: Workshop, row: StudyRow, owner: str) -> None:
    """If a study that goes on is killed now, it must not tell how it ended last time."""
    if (warnings := without_cut(row.warnings)) != row.warnings:
        workshop.ledger.finish(row.name, "running", row.answer, warnings, owner=owner)


def _note_failure(study: Study, error: TraindynoError, owner: str) -> None:
    """The error at hand matters more than one that comes of noting it, such as a full disk."""
    explanation = {"error": {"message": error.message, "hint": error.hint}}
    with suppress(TraindynoError):
        study.workshop.ledger.finish(study.row.name, "failed", explanation, owner=owner)


def stops_study(record: TrialRecord) -> bool:
    """A user's bug ends the study; a batch too small for batch-norm or too large for the data only itself.

    Data that could not be prepared is still there as it was. Code that runs with the baseline of a pair and not with
    the candidate's settings says something about those alone.
    """
    unprepared = record.failure is not None and record.failure.phase == PREPARING
    return record.outcome.stops_study and counts(record) and not (unprepared or _tries_settings(record))


def _tries_settings(record: TrialRecord) -> bool:
    arm = record.failure.details.get("arm") if record.failure is not None else None
    alone = record.spec.against is not None and arm is None and not_applicable(record)
    return record.spec.kind == "losses" or arm == "candidate" or alone


def _same_machine(row: StudyRow, workshop: Workshop) -> None:
    """Trials of two machines or versions in one study would be compared silently: refuse."""
    if row.machine is None or workshop.runner.simulated:
        return
    for what, then, now in _differences(row.machine, workshop.machine):
        raise UsageError(
            f"study {row.name!r} was begun with {what} {then}; here it is {now}",
            "begin a new study here, then `traindyno compare` the two",
        )


def _differences(then: MachineFacts, now: MachineFacts) -> Iterator[tuple[str, object, object]]:
    for what in ("hostname", "torch", "cuda", "cpu_model"):
        if getattr(then, what) != getattr(now, what):
            yield what, getattr(then, what), getattr(now, what)
    if None not in (then.cpus_usable, now.cpus_usable) and then.cpus_usable != now.cpus_usable:
        yield "so many usable CPUs:", then.cpus_usable, now.cpus_usable
    before, after = ([gpu.uuid for gpu in facts.gpus] for facts in (then, now))
    if before != after:
        yield "the GPUs", ", ".join(before) or "none", ", ".join(after) or "none"
