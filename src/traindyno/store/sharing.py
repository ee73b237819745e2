"""Studies that several processes run together: joined by anyone, growing by one trial at a time."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, case, func, insert, select, update

from traindyno.core.codec import encode
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialSpec
from traindyno.core.requests import Request
from traindyno.store.names import check_name
from traindyno.store.owners import is_live, other_machine
from traindyno.store.rows import QueuedTrial, StudyRow
from traindyno.store.schema import attempts, studies, trials
from traindyno.store.stored import moment_text, read_stored
from traindyno.store.studies import get_study, held_study, insert_study, living_holds, lock_study, select_hold
from traindyno.store.trials import select_trials

LOSSES = (Outcome.KILLED, Outcome.INFRASTRUCTURE)
"""Results that say nothing about the workload, and that nobody wished for."""


def take_part(
    connection: Connection,
    name: str,
    command: str,
    request: Request,
    machine: MachineFacts | None,
    agreed: Callable[[StudyRow], Request],
    owner: str,
    seconds: float,
    now: float,
) -> tuple[StudyRow, bool]:
    """Join the study of that name, written now unless it was there, with the request that it has from now on.

    The study is as it was before this process came, apart from that; the truth says whether nobody else is in it.
    """
    check_name(name)
    is_there = connection.scalar(select(studies.c.id).where(studies.c.name == name)) is not None
    if not is_there:
        insert_study(connection, name, command, request, machine, now)
    lock_study(connection, name)
    study = get_study(connection, name, now)
    wanted = agreed(study)
    if wanted != study.request:
        _update_request(connection, study, wanted, owner, now)
    found, alone = get_study(connection, name, now), not others_in(connection, study.id, owner, now)
    join_study(connection, name, owner, seconds, now)
    return found, alone


def join_study(connection: Connection, name: str, owner: str, seconds: float, now: float) -> StudyRow:
    """Take part in a study. Who finds no living owner becomes it, and the study runs; nobody is refused."""
    lock_study(connection, name)
    study = get_study(connection, name, now)
    held = connection.execute(select_hold().where(studies.c.id == study.id)).one()
    if held.owner == owner or not is_live(held.owner, held.expires, now):
        values = {"owner": owner, "expires": now + seconds, "fence": held.fence + 1, "state": "running"}
        connection.execute(update(studies).where(studies.c.id == study.id).values(**values))
    return get_study(connection, name, now)


def others_in(connection: Connection, study_id: int, owner: str, now: float) -> list[str]:
    """The other living processes that take part: whoever owns the study, and whoever has a trial of it."""
    held = connection.execute(select_hold().where(studies.c.id == study_id)).one()
    holds = [*([held] if is_live(held.owner, held.expires, now) else []), *living_holds(connection, study_id, now)]
    return sorted({hold.owner for hold in holds} - {owner})


def _update_request(connection: Connection, study: StudyRow, request: Request, owner: str, now: float) -> None:
    """Ask something else of a study from now on; refused while others run it as it was."""
    others = others_in(connection, study.id, owner, now)
    if others:
        raise held_study(study, others[0])
    changed = update(studies).where(studies.c.id == study.id)
    connection.execute(changed.values(request=encode(request), updated=moment_text(now)))


def enqueue_if(connection: Connection, study_id: int, spec: TrialSpec, ordinal: int, known_trials: int) -> int | None:
    """The id of a new trial; null when the study has grown since its `known_trials` were read."""
    lock_study(connection, study_id)
    if connection.scalar(select(func.count(trials.c.id)).where(trials.c.study_id == study_id)) != known_trials:
        return None
    values = {"study_id": study_id, "key": spec.key, "ordinal": ordinal, "spec": encode(spec), "fence": 0}
    written = connection.execute(insert(trials).values(**values)).inserted_primary_key
    assert written is not None, "a new row has a key"
    return int(written[0])


def queued_trials(connection: Connection, study_id: int, now: float) -> list[QueuedTrial]:
    """Every trial of a study, in the order in which they were asked for."""
    lost = func.sum(case((attempts.c.outcome.in_([each.value for each in LOSSES]), 1), else_=0))
    counts = select(attempts.c.trial_id, lost.label("losses")).group_by(attempts.c.trial_id).subquery()
    rows = select_trials(counts.c.losses).outerjoin(counts, counts.c.trial_id == trials.c.id)
    ordered = rows.where(trials.c.study_id == study_id).order_by(trials.c.ordinal, trials.c.id)
    return [_queued(row, now) for row in connection.execute(ordered).all()]


def _queued(row: Row[Any], now: float) -> QueuedTrial:
    return QueuedTrial(
        id=row.id,
        ordinal=row.ordinal,
        spec=read_stored(row.spec, TrialSpec, "a trial of the study"),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        fence=row.committed_fence,
        in_hands=is_live(row.owner, row.expires, now),
        losses=row.losses or 0,
        is_here=row.owner is not None and other_machine(row.owner) is None,
    )
