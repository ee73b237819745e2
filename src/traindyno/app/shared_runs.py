"""The runs that this process makes in a study which it shares with others: watched, kept, and told of."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from traindyno.app.attempt import LEASE_SECONDS, Attempt, TrialFailedError
from traindyno.app.context import Context
from traindyno.app.held_study import HeldStudy, failed_answer
from traindyno.app.pulling import stay_seconds
from traindyno.app.shared_sight import Sight
from traindyno.app.stopping import stopping
from traindyno.app.study import stops_study
from traindyno.app.workshop import Workshop
from traindyno.core.codec import plain
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Notice, StudyFinished, TrialFinished, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.runner.ray_words import kind_of
from traindyno.search.strategy import Proposal
from traindyno.store.ledger import Lease, StaleLeaseError, StoreAwayError, StudyRow, StudyState


class SharedRuns(HeldStudy):
    """A study that this process runs beside others. `standing` says in words how it stands, such as the best so far.

    Who comes `alone` sees all of it first; who joins others does when it must.
    """

    def __init__(
        self,
        workshop: Workshop,
        row: StudyRow,
        context: Context,
        title: str,
        standing: Callable[[Sequence[TrialRecord]], str | None] = lambda _: None,
        *,
        alone: bool = True,
    ) -> None:
        self._sight = Sight(workshop.ledger, row)
        self._before: set[str] | None = None
        self._own: set[str] = set()
        self._own_seconds: list[float] = []
        self._renewed_at = time.monotonic()
        self._has_news = self._has_ended = False
        self._is_owner = alone
        self._heard: StudyState = "running"
        self._standing = standing
        self._stands: str | None = None
        super().__init__(workshop, row, context, title)
        if alone:
            self._look()
        else:
            self._sight.count()

    @property
    def records(self) -> list[TrialRecord]:
        """What has ended, as this process has last seen it; once it is done, all that has."""
        if self._has_ended and not self._sight.is_fresh:
            self._look()
        return list(self._sight.view.finished)

    def doubt(self, outcomes: tuple[Outcome, ...]) -> None:
        """Run again, once, what ended in one of these ways before now."""
        self._sight.looking.doubt(outcomes)
        doubted = {record.spec.key for record in self._sight.view.finished if record.outcome in outcomes}
        self._look()
        self._before = (self._before or set()) - doubted

    def finish(self, answer: Any, warnings: tuple[str, ...] = ()) -> str:
        """Write the answer, or what there is of it. Whoever leaves early leaves that to those who go on."""
        state = self.state
        if state == "done" or not self.workshop.ledger.others_in(self.row.id, self._owner):
            self.workshop.ledger.finish(self.row.name, state, plain(answer), warnings)
        self._context.emit(StudyFinished(study=self.row.name, state=state, seconds=self.seconds))
        return state

    def _look(self) -> None:
        """See all of the study. What had ended when this process first saw it stops nothing."""
        self._sight.look()
        if self._before is None:
            before = [record for record in self._sight.view.finished if record.spec.key not in self._own]
            self._before = {record.spec.key for record in before}
            self._resumed_seconds = sum(record.seconds for record in before)

    def _check_ending(self) -> None:
        """The user's own error may end the study here."""
        failed = stopping(self._sight.view.finished, self._before or set()) if self._sight.is_fresh else None
        if failed is not None:
            raise TrialFailedError(failed)

    def _run(self, lease: Lease, proposal: Proposal, number: int) -> None:
        """A trial in our hands, to its end; the result is kept."""
        self._own.add(proposal.spec.key)
        log = self.workshop.log_folder / self.row.name / f"{number:04d}-{os.getpid()}.log"
        attempt = Attempt(self.workshop, self._context, self.row.name, lease, proposal.spec, log)
        beside, expected = self._beside(), max(proposal.expected_trials, self._sight.known)
        ordinal = self._sight.finished + 1
        self._context.emit(
            TrialStarted(ordinal=ordinal, expected_trials=expected, spec=proposal.spec, reason=proposal.reason)
        )
        began, self._sight.is_fresh = time.monotonic(), False
        try:
            record = attempt.run(self._stopped, self._renew)
            attempt.keep(self._placed(record, beside))
        except StaleLeaseError as error:
            self._context.emit(Notice(level="warning", text=f"{error.message}; {error.hint}"))
            return
        self._note(record, expected, time.monotonic() - began)

    def _beside(self) -> int:
        """How many others run now that may share the machine with ours; of a cluster's lanes that is not known.

        In a cluster without GPUs every run has a machine of its own.
        """
        self._sight.count()
        if self.workshop.bench.executor == "ray":
            return self._sight.running.trials - 1 if self.workshop.bench.device.startswith("cuda") else 0
        return self._sight.running.here - 1

    def _placed(self, record: TrialRecord, at_start: int) -> TrialRecord:
        """The record with how many others ran at its start or end, for times tell of that, and where it was made.

        A lane says where it is. Of a file there is one machine, which the study itself names.
        """
        conditions = msgspec.structs.replace(record.conditions, runs_beside=max(at_start, self._beside(), 0))
        workshop = self.workshop
        if conditions.machine is None and not (workshop.ledger.of_one_machine or workshop.runner.simulated):
            name, kind = workshop.machine.hostname, kind_of(workshop.machine, workshop.bench.device)
            conditions = msgspec.structs.replace(conditions, machine=name, machine_kind=kind)
        return msgspec.structs.replace(record, conditions=conditions)

    def _note(self, record: TrialRecord, expected: int, seconds: float) -> None:
        """Tell what came of a trial, and how the study stands after it; where many run, as far as is known."""
        if record.outcome is Outcome.INTERRUPTED:
            return
        self._gained = True
        self._own_seconds.append(seconds)
        if self._sight.are_few or stops_study(record):
            self._has_news = True
            self._look()
            self._stands = self._standing(self._sight.view.finished)
        self._context.emit(
            TrialFinished(
                ordinal=max(self._sight.finished, 1),
                expected_trials=max(expected, self._sight.known),
                record=record,
                remaining_seconds=self._remaining(expected),
                standing=self._stands,
            )
        )

    def _remaining(self, expected: int) -> float:
        """As our own trials went, shared by all who run some now, but no longer than the time budget."""
        left = max(0, expected - self._sight.finished)
        mean = sum(self._own_seconds) / len(self._own_seconds)
        needed, allowed = left * mean / (1 + self._sight.running.trials), self.seconds_left
        return needed if allowed is None else min(needed, allowed)

    def _renew(self, lease: Lease) -> None:
        """A store that is away does not end the trial: its lease lasts a while, and whoever keeps the result waits."""
        try:
            self._stay_known()
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

    def _stay_known(self) -> None:
        """Stay known as one that runs the study, and hear how it stands. If its owner is gone, it is ours."""
        if time.monotonic() - self._renewed_at >= stay_seconds(self._is_owner):
            held = self.workshop.ledger.join_study(self.row.name, self._owner, LEASE_SECONDS)
            self._renewed_at, self._is_owner, self._heard = time.monotonic(), held.owner == self._owner, held.state
