"""Driving a study: ask the strategy, run the trial, commit its outcome, and so on until there is an answer."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec

from traindyno.analysis.probes import counts, not_applicable
from traindyno.app.attempt import LEASE_SECONDS, REPEATABLE, Attempt, TrialFailedError
from traindyno.app.context import Context
from traindyno.app.cut_short import kept_beside, new_notes, run_seconds, without_cut
from traindyno.app.held_study import HeldStudy, failed_answer
from traindyno.app.places import check_plans_here, place_to_go_on
from traindyno.app.preparing import PREPARING
from traindyno.app.together import SURE_IN_COMPANY, Company, lanes_for, run_together
from traindyno.app.workshop import Workshop
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Notice, StudyStarted, TrialFinished, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import Request
from traindyno.runner.protocol import NowhereToRunError
from traindyno.search.strategy import Proposal, Strategy
from traindyno.store.ledger import Lease, StoreAwayError, StudyRow, owner_here

RETRIES = 2


class Study(HeldStudy):
    """One study in the ledger, held by this process while it runs.

    `place` is what its trials call this machine, if the study was begun on another.
    """

    def __init__(
        self, workshop: Workshop, row: StudyRow, context: Context, title: str, place: str | None = None
    ) -> None:
        self._place = place
        committed = _in_order_of_ending(workshop, row)
        self._done = _settled(committed, over=row.state == "done")
        self._again = {record.spec.key for record in committed} - {record.spec.key for record in self._done}
        self._cut_short = [record for record in committed if record.outcome is Outcome.INTERRUPTED]
        self._resumed = len(self._done)
        self._alone: set[str] = set()
        super().__init__(workshop, row, context, title)

    @property
    def records(self) -> list[TrialRecord]:
        return self._done

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
            proposal = msgspec.structs.replace(proposal, expected_trials=of_others + proposal.expected_trials)
            if (records := self._measured(proposal)) is None:
                break
            for record in records:
                history.append(record)
                self._done.append(record)
                if stops(record):
                    raise TrialFailedError(record)
        return history

    def _measured(self, proposal: Proposal) -> list[TrialRecord] | None:
        """What is proposed, and what may run beside it where there is room; null where the study is cut."""
        wanted = [each for each in (proposal, *proposal.beside) if each.spec.key not in self._alone]
        if len(wanted) > 1 and wanted[0] is proposal and (lanes := lanes_for(self.workshop, self._done)) > 1:
            return self._together(wanted, lanes)
        record = self._measure(proposal)
        return None if record is None else [record]

    def _together(self, proposals: Sequence[Proposal], lanes: int) -> list[TrialRecord]:
        """Trials that are not timed, at once. What company may have spoilt is left to be run alone."""
        assert all(each.spec.kind == "losses" for each in proposals), "what is timed runs alone"
        first = len(self._done) + 1
        records: list[TrialRecord] = []
        held: list[Attempt] = []
        company = Company(self._context.emit, proposals, first, lanes)

        def tick() -> None:
            company.tick()
            for attempt in held if company.renew_is_due() else ():
                self._renew(attempt.lease)

        try:
            for proposal in proposals:
                held.append(self._leased(proposal, first + len(held)))
            with closing(run_together(tuple(held), lanes, self._stopped, tick)) as ends:
                for attempt, told in ends:
                    record = self._placed(told)
                    if record.outcome not in SURE_IN_COMPANY:
                        self._alone.add(attempt.spec.key)
                        company.ended(record, None)
                        continue
                    held.remove(attempt)
                    attempt.keep(record)
                    records.append(record)
                    self._gained = True
                    company.ended(record, self._remaining(proposals[0].expected_trials, record, len(records)))
        finally:
            for attempt in held:
                attempt.give_back()
        return records

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
        ordinal = len(self._done) + 1
        attempt = self._leased(proposal, ordinal)
        expected = max(proposal.expected_trials, ordinal)
        self._context.emit(
            TrialStarted(ordinal=ordinal, expected_trials=expected, spec=proposal.spec, reason=proposal.reason)
        )
        record = self._kept(attempt, self._run(attempt))
        remaining = self._remaining(expected, record)
        self._context.emit(
            TrialFinished(ordinal=ordinal, expected_trials=expected, record=record, remaining_seconds=remaining)
        )
        return record

    def _leased(self, proposal: Proposal, ordinal: int) -> Attempt:
        """The proposed trial in our own hands."""
        ledger = self.workshop.ledger
        goes_on = proposal.spec.checkpoints is not None or proposal.spec.key in self._again
        trial_id = ledger.enqueue(self.row.id, proposal.spec, ordinal)
        lease = ledger.lease(trial_id, self._owner, LEASE_SECONDS, goes_on=goes_on)
        if lease is None:
            raise TraindynoError(
                f"trial {ordinal} of study {self.row.name!r} is held by another process",
                "wait until that run has ended",
            )
        log = self.workshop.log_folder / self.row.name / f"{trial_id:04d}.log"
        return Attempt(self.workshop, self._context, self.row.name, lease, proposal.spec, log)

    def _run(self, attempt: Attempt) -> TrialRecord:
        try:
            record = attempt.run(self._stopped, self._renew)
        except TrialFailedError:
            self.cut = "refused"
            raise
        except NowhereToRunError as error:
            raise NowhereToRunError(error.message, f"when there is one, go on with `{self.resume_command}`") from error
        self._note_cut(record)
        return self._placed(record)

    def _placed(self, record: TrialRecord) -> TrialRecord:
        """The record with the machine, if the study was begun on another."""
        if self._place is None:
            return record
        conditions = msgspec.structs.replace(record.conditions, machine=self._place)
        return msgspec.structs.replace(record, conditions=conditions)

    def _kept(self, attempt: Attempt, record: TrialRecord) -> TrialRecord:
        """Commit the result, unless the same trial had told of more before."""
        longer = self._longer_before(record)
        if longer is None:
            attempt.keep(record)
            return record
        attempt.give_back()
        return self._beside(longer, record)

    def _note_cut(self, record: TrialRecord) -> None:
        """Remember whether anything was gained, and where the trial was that was cut short."""
        if record.outcome is not Outcome.INTERRUPTED or record.measurement is not None:
            self._gained = True
        else:
            self._cut_phase = None if record.failure is None else record.failure.phase

    def _beside(self, longer: TrialRecord, record: TrialRecord) -> TrialRecord:
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

    def _remaining(self, expected: int, latest: TrialRecord, ended: int = 1) -> float:
        """As trials went so far, but no longer than the time budget; `ended` are those that ended just now."""
        seconds = [record.seconds for record in self._done[self._resumed :]] + [latest.seconds]
        left = max(0, expected - len(self._done) - ended)
        needed, allowed = left * sum(seconds) / len(seconds), self.seconds_left
        return needed if allowed is None else min(needed, allowed)

    def _note_failure(self, error: TraindynoError) -> None:
        self.workshop.ledger.finish(self.row.name, "failed", failed_answer(error), owner=self._owner)

    def _renew(self, lease: Lease) -> None:
        """A store that is away does not end the trial: its lease lasts a while, and whoever keeps the result waits."""
        try:
            kept = self.workshop.ledger.renew_study(self.row.name, self._owner, LEASE_SECONDS)
            kept = self.workshop.ledger.renew(lease, LEASE_SECONDS) and kept
        except StoreAwayError:
            return
        if not kept:
            raise TraindynoError(
                f"another process has taken over study {self.row.name!r}", f"see `traindyno show {self.row.name}`"
            )


def _in_order_of_ending(workshop: Workshop, row: StudyRow) -> list[TrialRecord]:
    """What the ledger has. Of trials that ran at once, one may have been asked for early and ended last."""
    moments = workshop.ledger.moments(row.id)
    return sorted(workshop.ledger.trials(row.id), key=lambda record: moments[record.spec.key])


def _settled(committed: list[TrialRecord], over: bool) -> list[TrialRecord]:
    """The trials that a resumed study takes as they are; `over` says that it came to its answer before.

    One that was killed, or could not start, is tried again if it is the last: the study may have ended by it. So is
    the user's own error that ended the study, as often as it came in the end: its cause may be mended by now. If the
    study went on after it, it had given up trying, and what came later rests on that. A run with checkpoints of its own
    goes on from them, however it ended before its end.
    """
    told = [record for record in committed if record.outcome is not Outcome.INTERRUPTED]
    if not told:
        return told
    if stops_study(told[-1]) and not over:
        return told[: len(told) - _alike_in_the_end(told)]
    return told[:-1] if told[-1].outcome in REPEATABLE or _goes_on(told[-1]) else told


def _alike_in_the_end(records: list[TrialRecord]) -> int:
    """How many of the last trials ended by the same error of the user's own."""

    def told(record: TrialRecord) -> str | None:
        return record.failure.message if record.failure is not None and stops_study(record) else None

    return sum(1 for _ in itertools.takewhile(lambda each: told(each) == told(records[-1]), reversed(records)))


def _goes_on(record: TrialRecord) -> bool:
    return record.spec.checkpoints is not None and not record.ok


@contextmanager
def open_study(workshop: Workshop, context: Context, request: Request, title: str) -> Iterator[Study]:
    """Create the study, or take up the one to resume; it is released whatever happens."""
    ledger, owner = workshop.ledger, owner_here()
    command = str(request.__struct_config__.tag)
    check_plans_here(command, workshop)
    place = None
    if context.resume is None:
        row = ledger.create_study(
            context.name, command, request, workshop.machine, owner, LEASE_SECONDS, context.store_option
        )
    else:
        row = ledger.study(context.resume)
        place = place_to_go_on(row, workshop, context.elsewhere)
    ledger.claim_study(row.name, owner, LEASE_SECONDS)
    _forget_cut(workshop, row, owner)
    study = Study(workshop, row, context, title, place)
    resumed = len(study.records)
    context.emit(StudyStarted(study=row.name, command=command, title=title, resumed_trials=resumed))
    if workshop.not_alone is not None:
        context.emit(Notice(level="warning", text=workshop.not_alone))
    with study.held():
        yield study


def _forget_cut(workshop: Workshop, row: StudyRow, owner: str) -> None:
    """If a study that goes on is killed now, it must not tell how it ended last time."""
    if (warnings := without_cut(row.warnings)) != row.warnings:
        workshop.ledger.finish(row.name, "running", row.answer, warnings, owner=owner)


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
