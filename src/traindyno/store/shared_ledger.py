"""The ledger of studies that several processes run together."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import Connection

from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Request
from traindyno.store import pulling, sharing, trials
from traindyno.store.rows import Held, QueuedTrial, Running, StudyRow, Taken, Turn
from traindyno.store.transacting import Transacting

NONE_KNOWN: Mapping[int, TrialSpec] = MappingProxyType({})


class SharedLedger(Transacting):
    """What processes that share a study ask: to take part, to plan in turns, to take the next trial, to see all."""

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

    def join_study(self, name: str, owner: str, seconds: float) -> Held:
        """Keep a study running that one takes part in beside others. A store that is away is not waited for."""
        return self._write(
            lambda connection, now: sharing.join_study(connection, name, owner, seconds, now), waits=False
        )

    def others_in(self, study_id: int, owner: str) -> list[str]:
        """The other living processes that take part in a study."""
        return self._read(lambda connection, now: sharing.others_in(connection, study_id, owner, now))

    def enqueue_all_if(self, study_id: int, specs: Sequence[TrialSpec], known_trials: int) -> bool:
        """Write new trials in their order; false, and none, when the study has grown since it was read."""
        return self._write(lambda connection, now: pulling.enqueue_all_if(connection, study_id, specs, known_trials))

    def lease_next(self, study_id: int, owner: str, seconds: float, *, count_left: int = 0) -> Taken | None:
        """The right to run the next trial without a result that nobody runs; null when there is none.

        Those that still wait then are counted up to `count_left`.
        """
        asked = itertools.count()

        def lease(connection: Connection, now: float) -> Taken | None:
            asked_before = next(asked) > 0
            return pulling.lease_next(connection, study_id, owner, seconds, now, count_left, asked_before)

        return self._write(lease)

    def take_turn(self, study_id: int, owner: str, seconds: float, *, has_news: bool = False) -> Turn:
        """Be the one who plans for so long, unless another does. Where there was nothing to plan, one needs news."""
        return self._write(
            lambda connection, now: pulling.take_turn(connection, study_id, owner, seconds, now, has_news)
        )

    def end_turn(self, study_id: int, owner: str, rest_seconds: float = 0.0) -> None:
        """Leave planning to others; for so long it is of no use to who has no news."""
        self._write(lambda connection, now: pulling.end_turn(connection, study_id, owner, rest_seconds, now))

    def running(self, study_id: int, one_by_one: int) -> Running:
        """How many trials are in someone's hands; of few, up to `one_by_one`, in those of someone who lives."""
        return self._read(lambda connection, now: pulling.running_now(connection, study_id, now, one_by_one))

    def queue(self, study_id: int, known: Mapping[int, TrialSpec] = NONE_KNOWN) -> list[QueuedTrial]:
        """Every trial of a study, in ordinal order: finished, in living hands, or waiting for somebody.

        Specs that are `known`, by their trial, of all trials up to the newest of them, are not read again.
        """
        return self._read(lambda connection, now: sharing.queued_trials(connection, study_id, now, known))

    def results(self, trial_ids: Sequence[int]) -> dict[int, TrialRecord]:
        """The latest result of each of these trials that has one."""
        return self._read(lambda connection, now: trials.latest_results(connection, trial_ids))
