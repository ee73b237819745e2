"""Trials in the database: queued once, leased to one runner at a time, committed for good."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from traindyno.core.codec import encode
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.store.owners import is_live
from traindyno.store.rows import REPEATABLE, Lease, StaleLeaseError
from traindyno.store.schema import attempts, trials
from traindyno.store.stored import moment_text, read_stored
from traindyno.store.studies import lock_study, touch_study

MOST_IN_A_STATEMENT = 500


def enqueue_trial(connection: Connection, study_id: int, spec: TrialSpec, ordinal: int) -> int:
    """The id of the study's trial with this key, written now unless it was there."""
    lock_study(connection, study_id)
    values = {"study_id": study_id, "key": spec.key, "ordinal": ordinal, "spec": encode(spec), "fence": 0}
    same = select(trials.c.id).where(trials.c.study_id == study_id, trials.c.key == spec.key)
    known = connection.scalar(same)
    if known is not None:
        return int(known)
    try:
        with connection.begin_nested():
            connection.execute(insert(trials).values(**values))
    except IntegrityError:
        # Another process queued the same trial just now, or the study does not exist.
        if connection.scalar(same) is None:
            raise
    return int(connection.scalars(same).one())


def lease_trial(
    connection: Connection,
    trial_id: int,
    owner: str,
    seconds: float,
    now: float,
    goes_on: bool = False,
    asked_before: bool = False,
) -> Lease | None:
    """The right to run a trial; null when it is finished or in living hands.

    One that `goes_on` is finished only when it has succeeded: any other end is where it is taken up again. Who has
    `asked_before` and did not hear the answer may have the trial in its own hands already.
    """
    trial = _locked(connection, trial_id)
    finished = trial.outcome == Outcome.OK if goes_on else _finished(trial)
    in_own_hands = asked_before and trial.owner == owner
    if finished or (is_live(trial.owner, trial.expires, now) and not in_own_hands):
        return None
    fence = trial.fence + 1
    claim = update(trials).where(trials.c.id == trial_id, trials.c.fence == trial.fence)
    taken = connection.execute(claim.values(owner=owner, expires=now + seconds, fence=fence)).rowcount == 1
    return Lease(trial_id=trial_id, fence=fence, owner=owner) if taken else None


def renew_trial(connection: Connection, lease: Lease, seconds: float, now: float) -> bool:
    """Extend a lease; false when it was lost."""
    return connection.execute(_held_by(lease).values(expires=now + seconds)).rowcount == 1


def release_trial(connection: Connection, lease: Lease) -> None:
    """Give a lease back without a result; a lost one is left alone."""
    connection.execute(_held_by(lease).values(owner=None, expires=None))


def commit_trial(connection: Connection, lease: Lease, record: TrialRecord, now: float) -> None:
    """Keep a result for good, provided that its lease is still the latest and unused.

    The very same result may come twice, from somebody who did not hear that it was kept.
    """
    trial = _locked(connection, lease.trial_id)
    assert record.spec.key == trial.key, "a result belongs to the trial that was leased"
    settled = _held_by(lease).values(owner=None, expires=None, committed_fence=lease.fence)
    if connection.execute(settled).rowcount != 1:
        if _is_kept(connection, lease, record):
            return
        raise _stale(trial, lease)
    values = {"outcome": record.outcome.value, "committed": moment_text(now), "record": encode(record)}
    connection.execute(insert(attempts).values(trial_id=lease.trial_id, fence=lease.fence, **values))
    touch_study(connection, trial.study_id, now)


def committed_trials(connection: Connection, study_id: int) -> list[TrialRecord]:
    """The latest result of every trial that has one, in the order in which they were asked for."""
    results = select(attempts.c.record).select_from(trials).join(attempts, latest_attempt())
    ordered = results.where(trials.c.study_id == study_id).order_by(trials.c.ordinal, trials.c.id)
    return [_record(text) for text in connection.scalars(ordered)]


def latest_results(connection: Connection, trial_ids: Sequence[int]) -> dict[int, TrialRecord]:
    """The latest result of each of these trials that has one."""
    results = select(trials.c.id, attempts.c.record).select_from(trials).join(attempts, latest_attempt())
    found = (connection.execute(results.where(trials.c.id.in_(some))) for some in _batched(trial_ids))
    return {row.id: _record(row.record) for rows in found for row in rows}


def _batched(values: Sequence[int]) -> Iterator[Sequence[int]]:
    """In parts that one statement can name."""
    return (values[place : place + MOST_IN_A_STATEMENT] for place in range(0, len(values), MOST_IN_A_STATEMENT))


def committed_moments(connection: Connection, study_id: int) -> dict[str, str]:
    """When the latest result of every trial was kept, by the trial's key."""
    results = select(trials.c.key, attempts.c.committed).select_from(trials).join(attempts, latest_attempt())
    return {row.key: row.committed for row in connection.execute(results.where(trials.c.study_id == study_id))}


def trial_attempts(connection: Connection, trial_id: int) -> list[TrialRecord]:
    """Every result a trial ever had, oldest first."""
    results = select(attempts.c.record).where(attempts.c.trial_id == trial_id).order_by(attempts.c.fence)
    return [_record(text) for text in connection.scalars(results)]


def _is_kept(connection: Connection, lease: Lease, record: TrialRecord) -> bool:
    same = attempts.c.trial_id == lease.trial_id, attempts.c.fence == lease.fence
    return connection.scalar(select(attempts.c.record).where(*same)) == encode(record)


def _locked(connection: Connection, trial_id: int) -> Row[Any]:
    """The trial, about which nobody else writes until the transaction ends. In a file that holds for any."""
    connection.execute(select(trials.c.id).where(trials.c.id == trial_id).with_for_update(key_share=True))
    return connection.execute(select_trials().where(trials.c.id == trial_id)).one()


def select_trials(*further: Any) -> Select[Any]:
    """Trials with the outcome of their latest result, and further columns."""
    return select(trials, attempts.c.outcome, *further).select_from(trials).outerjoin(attempts, latest_attempt())


def latest_attempt() -> Any:
    return and_(attempts.c.trial_id == trials.c.id, attempts.c.fence == trials.c.committed_fence)


def _held_by(lease: Lease) -> Any:
    mine = (trials.c.id == lease.trial_id, trials.c.fence == lease.fence, trials.c.owner == lease.owner)
    return update(trials).where(*mine)


def _finished(trial: Row[Any]) -> bool:
    return trial.outcome is not None and trial.outcome not in REPEATABLE


def _stale(trial: Row[Any], lease: Lease) -> StaleLeaseError:
    if trial.fence > lease.fence:
        reason = f"it was given to another runner meanwhile (lease {trial.fence} after {lease.fence})"
    else:
        reason = "its lease was already used or given back"
    return StaleLeaseError(
        f"the result of trial {lease.trial_id} came too late: {reason}",
        "nothing is lost: the other runner's result counts",
    )


def _record(text: str) -> TrialRecord:
    return read_stored(text, TrialRecord, "a trial of the study")
