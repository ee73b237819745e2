"""The ledger of studies, trials, leases and results; every write is one durable transaction."""

import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine

from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Request
from traindyno.store import sharing, studies, trials
from traindyno.store.connection import open_file
from traindyno.store.database import Database, StoreAwayError
from traindyno.store.location import DEFAULT_STORE, is_server, redact_url, store_path
from traindyno.store.machines import check_machine
from traindyno.store.owners import owner_here
from traindyno.store.rows import Lease, QueuedTrial, StaleLeaseError, StudyRow, StudyState

__all__ = [
    "Lease",
    "Ledger",
    "QueuedTrial",
    "StaleLeaseError",
    "StoreAwayError",
    "StudyRow",
    "StudyState",
    "owner_here",
    "redact_url",
]

Clock = Callable[[], float]
T = TypeVar("T")


class Ledger:
    """An open store. It may be shared between threads, and is to be opened anew after a fork.

    The time is that of the machine that has the store, whoever asks; `clock` is for tests.
    """

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock
        self._waits = True
        self.folder = database.folder
        """Where logs, checkpoints and the like go."""

    @classmethod
    def open(cls, store: str = DEFAULT_STORE, *, create: bool = True, clock: Clock | None = None) -> Self:
        """Open the store named by a path or URL; `create=False` refuses a file that is not there yet.

        A database on a server is made ready by whoever comes first.
        """
        if is_server(store):
            from traindyno.store.server import open_server

            return cls(open_server(store), clock)
        return cls(open_file(store_path(store), create), clock)

    @property
    def of_one_machine(self) -> bool:
        """Whether processes of other machines cannot share this store."""
        return self._database.of_one_machine

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def create_study(
        self,
        name: str | None,
        command: str,
        request: Request,
        machine: MachineFacts | None,
        owner: str | None = None,
        seconds: float = 0.0,
    ) -> StudyRow:
        """Write a new study; without a name it gets one from its command and the time.

        It is in the hands of its `owner` from the beginning. Without one, a study may be written twice if the store
        goes away in the middle.
        """
        asked = itertools.count()

        def create(connection: Connection, now: float) -> StudyRow:
            hold, asked_before = None if owner is None else studies.Hold(owner, now + seconds), next(asked) > 0
            return studies.create_study(connection, name, command, request, machine, now, hold, asked_before)

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
        """Every committed result of one trial, oldest first; all but the last are repeatable endings."""
        return self._read(lambda connection, now: trials.trial_attempts(connection, trial_id))

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

        def join(connection: Connection, now: float) -> tuple[StudyRow, bool]:
            self._check_machine(connection, now)
            return sharing.take_part(connection, name, command, request, machine, agreed, owner, seconds, now)

        return self._write(join)

    def join_study(self, name: str, owner: str, seconds: float) -> StudyRow:
        """Keep a study running that one takes part in beside others. A store that is away is not waited for."""
        return self._write(
            lambda connection, now: sharing.join_study(connection, name, owner, seconds, now), waits=False
        )

    def others_in(self, study_id: int, owner: str) -> list[str]:
        """The other living processes that take part in a study."""
        return self._read(lambda connection, now: sharing.others_in(connection, study_id, owner, now))

    def enqueue_if(self, study_id: int, spec: TrialSpec, ordinal: int, known_trials: int) -> int | None:
        """The id of a new trial; null when the study has grown since its `known_trials` were read."""
        return self._write(
            lambda connection, now: sharing.enqueue_if(connection, study_id, spec, ordinal, known_trials)
        )

    def queue(self, study_id: int) -> list[QueuedTrial]:
        """Every trial of a study, in ordinal order: finished, in living hands, or waiting for somebody."""
        return self._read(lambda connection, now: sharing.queued_trials(connection, study_id, now))

    def result(self, trial_id: int) -> TrialRecord:
        """The latest result of a trial that has one."""
        return self._read(lambda connection, now: trials.latest_result(connection, trial_id))

    def _read(self, work: Callable[[Connection, float], T]) -> T:
        return self._transact(self._database.reader, work, waits=True)

    def _write(self, work: Callable[[Connection, float], T], *, waits: bool = True) -> T:
        return self._transact(self._database.writer, work, waits)

    def _transact(self, engine: Engine, work: Callable[[Connection, float], T], waits: bool) -> T:
        """Do work in one transaction. A store that is away is waited for, but not again by who did so in vain."""
        patience_seconds = self._database.patience_seconds if waits and self._waits else 0.0
        try:
            done = self._database.transact(engine, lambda each: work(each, self._now(each)), patience_seconds)
        except StoreAwayError:
            self._waits = self._waits and not waits
            raise
        self._waits = True
        return done

    def _check_machine(self, connection: Connection, now: float) -> None:
        if self._database.of_one_machine:
            check_machine(connection, self._database.name, now)

    def _now(self, connection: Connection) -> float:
        return self._database.seconds(connection) if self._clock is None else self._clock()
