"""The ledger of studies, trials, leases and results; every write is one durable transaction."""

import itertools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Request
from traindyno.store import deleting, studies, trials
from traindyno.store.database import StoreAwayError
from traindyno.store.location import redact_url
from traindyno.store.owners import owner_here
from traindyno.store.rows import Lease, QueuedTrial, Running, StaleLeaseError, StudyRow, StudyState, Taken, Turn
from traindyno.store.shared_ledger import SharedLedger

__all__ = [
    "Lease",
    "Ledger",
    "QueuedTrial",
    "Running",
    "StaleLeaseError",
    "StoreAwayError",
    "StudyRow",
    "StudyState",
    "Taken",
    "Turn",
    "owner_here",
    "redact_url",
]


class Ledger(SharedLedger):
    """An open store: what one process asks of its studies, beside what several share."""

    def create_study(
        self,
        name: str | None,
        command: str,
        request: Request,
        machine: MachineFacts | None,
        owner: str | None = None,
        seconds: float = 0.0,
        store_option: str = "",
    ) -> StudyRow:
        """Write a new study; without a name it gets one from its command and the time.

        `store_option` is what a command to type next has at its end.

        It is in the hands of its `owner` from the beginning. Without one, a study may be written twice if the store
        goes away in the middle. It takes the place of one with its name that failed before it had measured anything.
        """
        asked = itertools.count()

        def create(connection: Connection, now: float) -> StudyRow:
            hold, asked_before = None if owner is None else studies.Hold(owner, now + seconds), next(asked) > 0
            if name is not None:
                deleting.free_name(connection, name, now)
            return studies.create_study(
                connection, name, command, request, machine, now, hold, asked_before, store_option
            )

        return self._write(create)

    def study(self, name: str) -> StudyRow:
        """The study of that name; an unknown name is answered with the nearest ones."""
        return self._read(lambda connection, now: studies.get_study(connection, name, now))

    def studies(self) -> list[StudyRow]:
        """All studies, newest first."""
        return self._read(lambda connection, now: studies.list_studies(connection, now))

    def claim_study(self, name: str, owner: str, seconds: float) -> StudyRow:
        """Become the one runner of a study for some seconds; refused while another runner lives."""

        def claim(connection: Connection, now: float) -> StudyRow:
            self._check_machine(connection, now)
            return studies.claim_study(connection, name, owner, seconds, now)

        return self._write(claim)

    def renew_study(self, name: str, owner: str, seconds: float) -> bool:
        """Extend a claim from now; false when the study was lost to someone else. An absent store is not awaited."""
        return self._write(
            lambda connection, now: studies.renew_study(connection, name, owner, seconds, now), waits=False
        )

    def release_study(self, name: str, owner: str) -> None:
        """Give a claim up. A study that was not finished before counts as interrupted."""
        self._write(lambda connection, now: studies.release_study(connection, name, owner, now))

    def finish(
        self,
        name: str,
        state: StudyState,
        answer: Any,
        warnings: Sequence[str] = (),
        owner: str | None = None,
    ) -> None:
        """Store a study's state, answer and warnings; refused when `owner` is given but lost the study."""
        self._write(lambda connection, now: studies.finish_study(connection, name, state, answer, warnings, owner, now))

    def amend_request(self, name: str, request: Request) -> None:
        """Store what a study was asked since, in place of what it was asked first."""
        self._write(lambda connection, now: studies.amend_request(connection, name, request))

    def delete_studies(self, names: Sequence[str]) -> list[StudyRow]:
        """Remove studies for good with their trials and results, all or none; refused while one of them runs."""

        def delete(connection: Connection, now: float) -> list[StudyRow]:
            self._check_machine(connection, now)
            return deleting.delete_studies(connection, names, now)

        return self._write(delete)

    def enqueue(self, study_id: int, spec: TrialSpec, ordinal: int) -> int:
        """The id of this trial in the study; the same spec always gets the same one."""
        return self._write(lambda connection, now: trials.enqueue_trial(connection, study_id, spec, ordinal))

    def lease(self, trial_id: int, owner: str, seconds: float, *, goes_on: bool = False) -> Lease | None:
        """The right to run a trial; null when it is finished or someone alive has it.

        One that `goes_on` is finished only when it has succeeded.
        """
        asked = itertools.count()

        def lease(connection: Connection, now: float) -> Lease | None:
            asked_before = next(asked) > 0
            return trials.lease_trial(connection, trial_id, owner, seconds, now, goes_on, asked_before)

        return self._write(lease)

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Extend a lease from now; false when it was lost. A store that is away is not waited for."""
        return self._write(lambda connection, now: trials.renew_trial(connection, lease, seconds, now), waits=False)

    def release(self, lease: Lease) -> None:
        """Give a lease back without a result, so that the trial can be leased again at once."""
        self._write(lambda connection, now: trials.release_trial(connection, lease))

    def commit(self, lease: Lease, record: TrialRecord) -> None:
        """Keep a result for good; once this returns, no crash takes it away. A lost lease is refused."""
        self._write(lambda connection, now: trials.commit_trial(connection, lease, record, now))

    def trials(self, study_id: int) -> list[TrialRecord]:
        """The latest committed result of each trial, in ordinal order."""
        return self._read(lambda connection, now: trials.committed_trials(connection, study_id))

    def moments(self, study_id: int) -> dict[str, str]:
        """When the latest result of each trial was kept, by the trial's key."""
        return self._read(lambda connection, now: trials.committed_moments(connection, study_id))

    def attempts(self, trial_id: int) -> list[TrialRecord]:
        """Every committed result of one trial, oldest first; those before the last were run again."""
        return self._read(lambda connection, now: trials.trial_attempts(connection, trial_id))
