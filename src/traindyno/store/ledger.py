"""The ledger of studies, trials, leases and results; every write is one durable transaction."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine

from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Request
from traindyno.store import sharing, studies, trials
from traindyno.store.connection import open_database, writing
from traindyno.store.faults import explained
from traindyno.store.location import DEFAULT_STORE, redact_url, store_path
from traindyno.store.owners import owner_here
from traindyno.store.rows import Lease, QueuedTrial, StaleLeaseError, StudyRow, StudyState

__all__ = [
    "Lease",
    "Ledger",
    "QueuedTrial",
    "StaleLeaseError",
    "StudyRow",
    "StudyState",
    "owner_here",
    "redact_url",
]

Clock = Callable[[], float]


class Ledger:
    """An open store. It may be shared between threads, and is to be opened anew after a fork."""

    def __init__(self, engine: Engine, path: Path, clock: Clock = time.time) -> None:
        self._engine = engine
        self._writer = writing(engine)
        self._clock = clock
        self.path = path

    @classmethod
    def open(cls, store: str = DEFAULT_STORE, *, create: bool = True, clock: Clock = time.time) -> Self:
        """Open the store named by a path or URL; `create=False` refuses one that is not there yet."""
        path = store_path(store)
        return cls(open_database(path, create), path, clock)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def create_study(self, name: str | None, command: str, request: Request, machine: MachineFacts | None) -> StudyRow:
        """Write a new study; without a name it gets one from its command and the time."""
        with self._writing() as connection:
            return studies.create_study(connection, name, command, request, machine, self._clock())

    def study(self, name: str) -> StudyRow:
        """The study of that name; an unknown name is answered with the nearest ones."""
        with self._reading() as connection:
            return studies.get_study(connection, name, self._clock())

    def studies(self) -> list[StudyRow]:
        """All studies, newest first."""
        with self._reading() as connection:
            return studies.list_studies(connection, self._clock())

    def claim_study(self, name: str, owner: str, seconds: float) -> StudyRow:
        """Become the one runner of a study for some seconds; refused while another runner lives."""
        with self._writing() as connection:
            return studies.claim_study(connection, name, owner, seconds, self._clock())

    def renew_study(self, name: str, owner: str, seconds: float) -> bool:
        """Extend a claim from now; false when the study was lost to someone else."""
        with self._writing() as connection:
            return studies.renew_study(connection, name, owner, seconds, self._clock())

    def release_study(self, name: str, owner: str) -> None:
        """Give a claim up. A study that was not finished before counts as interrupted."""
        with self._writing() as connection:
            studies.release_study(connection, name, owner, self._clock())

    def finish(
        self,
        name: str,
        state: StudyState,
        answer: Any,
        warnings: Sequence[str] = (),
        owner: str | None = None,
    ) -> None:
        """Store a study's state, answer and warnings; refused when `owner` is given but lost the study."""
        with self._writing() as connection:
            studies.finish_study(connection, name, state, answer, warnings, owner, self._clock())

    def enqueue(self, study_id: int, spec: TrialSpec, ordinal: int) -> int:
        """The id of this trial in the study; the same spec always gets the same one."""
        with self._writing() as connection:
            return trials.enqueue_trial(connection, study_id, spec, ordinal)

    def lease(self, trial_id: int, owner: str, seconds: float, *, goes_on: bool = False) -> Lease | None:
        """The right to run a trial; null when it is finished or someone alive has it.

        One that `goes_on` is finished only when it has succeeded.
        """
        with self._writing() as connection:
            return trials.lease_trial(connection, trial_id, owner, seconds, self._clock(), goes_on)

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Extend a lease from now; false when it was lost."""
        with self._writing() as connection:
            return trials.renew_trial(connection, lease, seconds, self._clock())

    def release(self, lease: Lease) -> None:
        """Give a lease back without a result, so that the trial can be leased again at once."""
        with self._writing() as connection:
            trials.release_trial(connection, lease)

    def commit(self, lease: Lease, record: TrialRecord) -> None:
        """Keep a result for good; once this returns, no crash takes it away. A lost lease is refused."""
        with self._writing() as connection:
            trials.commit_trial(connection, lease, record, self._clock())

    def trials(self, study_id: int) -> list[TrialRecord]:
        """The latest committed result of each trial, in ordinal order."""
        with self._reading() as connection:
            return trials.committed_trials(connection, study_id)

    def moments(self, study_id: int) -> dict[str, str]:
        """When the latest result of each trial was kept, by the trial's key."""
        with self._reading() as connection:
            return trials.committed_moments(connection, study_id)

    def attempts(self, trial_id: int) -> list[TrialRecord]:
        """Every committed result of one trial, oldest first; all but the last are repeatable endings."""
        with self._reading() as connection:
            return trials.trial_attempts(connection, trial_id)

    def take_part(
        self,
        name: str,
        command: str,
        request: Request,
        machine: MachineFacts | None,
        agreed: Callable[[StudyRow], Request],
        owner: str,
        seconds: float,
    ) -> tuple[StudyRow, bool]:
        """Begin a study for several processes, or join it, with what `agreed` makes of its request: all at one moment.

        Another request is refused while others run the study as it was. Also whether nobody else is in it.
        """
        with self._writing() as connection:
            now = self._clock()
            return sharing.take_part(connection, name, command, request, machine, agreed, owner, seconds, now)

    def join_study(self, name: str, owner: str, seconds: float) -> StudyRow:
        """Keep a study running that one takes part in beside others."""
        with self._writing() as connection:
            return sharing.join_study(connection, name, owner, seconds, self._clock())

    def others_in(self, study_id: int, owner: str) -> list[str]:
        """The other living processes that take part in a study."""
        with self._reading() as connection:
            return sharing.others_in(connection, study_id, owner, self._clock())

    def enqueue_if(self, study_id: int, spec: TrialSpec, ordinal: int, known_trials: int) -> int | None:
        """The id of a new trial; null when the study has grown since its `known_trials` were read."""
        with self._writing() as connection:
            return sharing.enqueue_if(connection, study_id, spec, ordinal, known_trials)

    def queue(self, study_id: int) -> list[QueuedTrial]:
        """Every trial of a study, in ordinal order: finished, in living hands, or waiting for somebody."""
        with self._reading() as connection:
            return sharing.queued_trials(connection, study_id, self._clock())

    def result(self, trial_id: int) -> TrialRecord:
        """The latest result of a trial that has one."""
        with self._reading() as connection:
            return trials.latest_result(connection, trial_id)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.path), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with explained(self.path), self._writer.begin() as connection:
            yield connection
