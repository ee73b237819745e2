"""Driving a study that several processes run together: each asks for what nobody has, runs it, and looks again."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import msgspec

from traindyno.app.attempt import LEASE_SECONDS, Attempt, TrialFailedError
from traindyno.app.context import Context
from traindyno.app.cut_short import without_cut
from traindyno.app.held_study import HeldStudy, failed_answer
from traindyno.app.shared_view import LOST, Looking
from traindyno.app.study import stops_study
from traindyno.app.watching import RENEW_SECONDS
from traindyno.app.workshop import Workshop
from traindyno.core.codec import plain
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.events import Notice, StudyFinished, StudyStarted, TrialFinished, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.units import count_of
from traindyno.runner.protocol import NowhereToRunError
from traindyno.runner.ray_runner import RayRunner
from traindyno.runner.ray_words import kind_of
from traindyno.search.strategy import Proposal, SharedStrategy
from traindyno.store.ledger import Lease, QueuedTrial, StaleLeaseError, StoreAwayError, StudyRow, owner_here

POLL_SECONDS = 1.0
TICK_SECONDS = 0.1
NOWHERE_SECONDS = 30.0
"""So long a process without a machine waits for others to take a trial, or to leave theirs."""
NOWHERE_POLL_SECONDS = 5.0
"""To look for a machine is to knock at all, where others may be measuring."""
BUGS_IN_A_ROW = 3
"""So many runs that end alike by the user's own error are no matter of their values."""
TAKEN_OVER = "nobody runs it any more"
Shared = TypeVar("Shared", RoundRequest, AdoptRequest)


class SharedStudy(HeldStudy):
    """A study that this process runs beside others. `standing` says in words how it stands, such as the best so far."""

    def __init__(
        self,
        workshop: Workshop,
        row: StudyRow,
        context: Context,
        title: str,
        standing: Callable[[Sequence[TrialRecord]], str | None] = lambda _: None,
    ) -> None:
        self._looking = Looking(workshop.ledger, row.id)
        self._view = self._looking.look()
        self._before = {record.spec.key for record in self._view.finished}
        self._own_seconds: list[float] = []
        self._renewed_at = time.monotonic()
        self._waits = False
        self._nowhere_since: float | None = None
        self._expected = 0
        self._standing = standing
        super().__init__(workshop, row, context, title)

    @property
    def records(self) -> list[TrialRecord]:
        return list(self._view.finished)

    def doubt(self, outcomes: tuple[Outcome, ...]) -> None:
        """Run again, once, what ended in one of these ways before now."""
        self._looking.doubt(outcomes)
        self._before -= {record.spec.key for record in self._view.finished if record.outcome in outcomes}

    def drive(self, strategy: SharedStrategy) -> list[TrialRecord]:
        """Run what waits and what the strategy asks for, until there is nothing to start and nobody runs anything."""
        while not self._stopped():
            self._look()
            if self._view.waiting:
                self._somewhere(partial(self._take_over, self._view.waiting[0], strategy))
            elif (proposal := strategy.ask(self._view.finished, self._view.running)) is not None:
                self._somewhere(partial(self._begin, proposal))
            elif self._view.running:
                self._wait()
            else:
                break
        self._view = self._looking.look()
        return self.records

    def finish(self, answer: Any, warnings: tuple[str, ...] = ()) -> str:
        """Write the answer, or what there is of it. Whoever leaves early leaves that to those who go on."""
        state = self.state
        if state == "done" or not self.workshop.ledger.others_in(self.row.id, self._owner):
            self.workshop.ledger.finish(self.row.name, state, plain(answer), warnings)
        self._context.emit(StudyFinished(study=self.row.name, state=state, seconds=self.seconds))
        return state

    def _look(self) -> None:
        """See how the study stands, and stay known as one that runs it. The user's own error may end it here."""
        self._view = self._looking.look()
        if time.monotonic() - self._renewed_at > RENEW_SECONDS:
            with suppress(StoreAwayError):  # the next look waits for it
                self._rejoin()
        failed = stopping(self._view.finished, self._before)
        if failed is not None:
            raise TrialFailedError(failed)

    def _somewhere(self, run: Callable[[], None]) -> None:
        """Run a trial if there is a machine for it now: one that has none does not keep the trial from others."""
        try:
            if isinstance(self.workshop.runner, RayRunner):
                self.workshop.runner.facts()
            self._nowhere_since = None
            run()
        except NowhereToRunError as error:
            self._leave_to_others(error)

    def _take_over(self, trial: QueuedTrial, strategy: SharedStrategy) -> None:
        """Run a trial that was asked for before. Its run may go on where that of another process was."""
        goes_on = self._looking.comes_again(trial)
        lease = self.workshop.ledger.lease(trial.id, self._owner, LEASE_SECONDS, goes_on=goes_on)
        if lease is None:
            return
        self._expected = self._expected or self._expected_by(strategy)
        self._run(lease, Proposal(spec=trial.spec, reason=TAKEN_OVER, expected_trials=self._expected), trial.ordinal)

    def _expected_by(self, strategy: SharedStrategy) -> int:
        asked_for = (*self._view.running, *(each.spec for each in self._view.waiting))
        further = strategy.ask(self._view.finished, asked_for)
        return self._view.known_trials if further is None else further.expected_trials

    def _begin(self, proposal: Proposal) -> None:
        """Run a new trial, unless somebody else began another since we looked."""
        self._check_request()
        ledger, known = self.workshop.ledger, self._view.known_trials
        trial_id = ledger.enqueue_if(self.row.id, proposal.spec, known + 1, known)
        lease = None if trial_id is None else ledger.lease(trial_id, self._owner, LEASE_SECONDS)
        if lease is not None:
            self._expected = proposal.expected_trials
            self._run(lease, proposal, known + 1)

    def _check_request(self) -> None:
        """Who waited for others has no hold on the study: when they were gone, somebody may have changed it."""
        if self.workshop.ledger.study(self.row.name).request != self.row.request:
            raise TraindynoError(
                f"the study {self.row.name!r} is asked something else since this process joined it",
                "type the command again to take part in what it is now",
            )

    def _run(self, lease: Lease, proposal: Proposal, number: int) -> None:
        self._waits = False
        log = self.workshop.log_folder / self.row.name / f"{number:04d}-{os.getpid()}.log"
        attempt = Attempt(self.workshop, self._context, self.row.name, lease, proposal.spec, log)
        done = len(self._view.finished)
        expected = max(proposal.expected_trials, self._view.known_trials)
        started = TrialStarted(ordinal=done + 1, expected_trials=expected, spec=proposal.spec, reason=proposal.reason)
        self._context.emit(started)
        began, beside = time.monotonic(), self._beside()
        try:
            record = attempt.run(self._stopped, self._renew)
            attempt.keep(self._placed(record, beside))
        except StaleLeaseError as error:
            self._context.emit(Notice(level="warning", text=f"{error.message}; {error.hint}"))
            return
        self._note(record, expected, time.monotonic() - began)

    def _leave_to_others(self, error: NowhereToRunError) -> None:
        """Whoever has no machine for its runs any more waits while others go on; alone, it says how to go on later."""
        if self._nowhere_since is None:
            self._context.emit(Notice(level="warning", text=f"{error.message}; waiting for what others make of it"))
        if self._nowhere_since is None or self.workshop.ledger.others_in(self.row.id, self._owner):
            self._nowhere_since = time.monotonic()
        if time.monotonic() - self._nowhere_since > NOWHERE_SECONDS:
            raise NowhereToRunError(error.message, f"when there is one, go on with `{self.resume_command}`") from error
        self._waits = True
        self._wait(NOWHERE_POLL_SECONDS)

    def _beside(self, own: int = 0) -> int:
        """How many others run now that may share the machine with ours; of a cluster's lanes that is not known.

        In a cluster without GPUs every run has a machine of its own.
        """
        if self.workshop.bench.executor == "ray":
            return len(self._view.running) - own if self.workshop.bench.device.startswith("cuda") else 0
        return self._view.here - own

    def _placed(self, record: TrialRecord, at_start: int) -> TrialRecord:
        """The record with how many others ran at its start or end, for times tell of that, and where it was made.

        A lane says where it is. Of a file there is one machine, which the study itself names.
        """
        self._view = self._looking.look()
        conditions = msgspec.structs.replace(record.conditions, runs_beside=max(at_start, self._beside(own=1), 0))
        workshop = self.workshop
        if conditions.machine is None and not (workshop.ledger.of_one_machine or workshop.runner.simulated):
            name, kind = workshop.machine.hostname, kind_of(workshop.machine, workshop.bench.device)
            conditions = msgspec.structs.replace(conditions, machine=name, machine_kind=kind)
        return msgspec.structs.replace(record, conditions=conditions)

    def _note(self, record: TrialRecord, expected: int, seconds: float) -> None:
        """Tell what came of a trial, and how the study stands after it."""
        if record.outcome is Outcome.INTERRUPTED:
            return
        self._gained = True
        self._own_seconds.append(seconds)
        self._view = self._looking.look()
        self._context.emit(
            TrialFinished(
                ordinal=len(self._view.finished),
                expected_trials=max(expected, self._view.known_trials),
                record=record,
                remaining_seconds=self._remaining(expected),
                standing=self._standing(self._view.finished),
            )
        )

    def _remaining(self, expected: int) -> float:
        """As our own trials went, shared by all who run some now, but no longer than the time budget."""
        left = max(0, expected - len(self._view.finished))
        mean = sum(self._own_seconds) / len(self._own_seconds)
        needed, allowed = left * mean / (1 + len(self._view.running)), self.seconds_left
        return needed if allowed is None else min(needed, allowed)

    def _wait(self, seconds: float = POLL_SECONDS) -> None:
        """Others may die and leave their trials to us, or end them and make new ones possible."""
        if not self._waits:
            others = count_of(len(self._view.running), "run")
            self._context.emit(Notice(level="info", text=f"waiting for {others} in other processes"))
        self._waits = True
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stopped():
            time.sleep(TICK_SECONDS)

    def _renew(self, lease: Lease) -> None:
        """A store that is away does not end the trial: its lease lasts a while, and whoever keeps the result waits."""
        try:
            self._rejoin()
            kept = self.workshop.ledger.renew(lease, LEASE_SECONDS)
        except StoreAwayError:
            return
        if not kept:
            raise StaleLeaseError(f"a trial of study {self.row.name!r} was taken over by another process", "it goes on")

    def _note_failure(self, error: TraindynoError) -> None:
        """The user's own error ends the study; any other is this process's alone, if there are others."""
        ledger = self.workshop.ledger
        if isinstance(error, TrialFailedError) or not ledger.others_in(self.row.id, self._owner):
            ledger.finish(self.row.name, "failed", failed_answer(error))

    def _rejoin(self) -> None:
        """The study is kept running by whoever owns it; if that one is gone, by us."""
        self._renewed_at = time.monotonic()
        self.workshop.ledger.join_study(self.row.name, self._owner, LEASE_SECONDS)


def stopping(finished: Sequence[TrialRecord], before: set[str]) -> TrialRecord | None:
    """The run by whose error of the user's own the study ends; null while it goes on.

    An error may be a matter of one run's values. It is not while no run has succeeded, or when the last three runs
    ended by the same one. What had ended `before`, when this process came, stops nothing.
    """
    bugs = [record for record in finished if stops_study(record) and record.spec.key not in before]
    if not bugs:
        return None
    last = finished[-BUGS_IN_A_ROW:]
    alike = len({record.failure.message if record.failure else None for record in last}) == 1
    in_a_row = len(last) == BUGS_IN_A_ROW and alike and all(stops_study(record) for record in last)
    return bugs[-1] if in_a_row or not any(record.ok for record in finished) else None


@contextmanager
def open_shared(
    workshop: Workshop,
    context: Context,
    name: str,
    request: Shared,
    title: str,
    *,
    agreed: Callable[[Shared, Shared], Shared],
    standing: Callable[[Sequence[TrialRecord]], str | None] = lambda _: None,
) -> Iterator[SharedStudy]:
    """Begin the study of that name, go on with it, or take part in it; it is left whatever happens.

    `agreed` says what a study is asked from now on, from what it was asked before and now; it refuses what cannot be.
    """
    ledger, owner, command = workshop.ledger, owner_here(), str(request.__struct_config__.tag)
    settle = partial(_settled, request=request, agreed=agreed)
    row, alone = ledger.take_part(name, command, request, workshop.machine, settle, owner, LEASE_SECONDS)
    study = SharedStudy(workshop, row, context, title, standing)
    if alone:
        _begin_again(study, row)
    kept = len(study.records)
    context.emit(StudyStarted(study=name, command=command, title=title, resumed_trials=kept))
    with study.held():
        yield study


def _settled(row: StudyRow, request: Shared, agreed: Callable[[Shared, Shared], Shared]) -> Shared:
    """What the study is asked from now on."""
    if not isinstance(row.request, type(request)):
        raise UsageError(f"there is already a study named {row.name!r}, one of `{row.command}`", "choose another name")
    return agreed(row.request, request)


def _begin_again(study: SharedStudy, row: StudyRow) -> None:
    """Whoever goes on alone gives what was lost another chance, and what stopped the study."""
    bugs = (Outcome.USER_ERROR, Outcome.DATA_ERROR) if row.state == "failed" else ()
    study.doubt((*LOST, *bugs))
    if (warnings := without_cut(row.warnings)) != row.warnings:
        study.workshop.ledger.finish(row.name, "running", row.answer, warnings)
