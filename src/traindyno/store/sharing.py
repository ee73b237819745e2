"""Studies that several processes run together: joined by anyone, and seen whole."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, case, func, select, update

from traindyno.core.codec import encode
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialSpec
from traindyno.core.requests import Request
from traindyno.store.names import check_name
from traindyno.store.owners import is_live, other_machine
from traindyno.store.rows import Held, QueuedTrial, StudyRow, StudyState
from traindyno.store.schema import attempts, studies, trials
from traindyno.store.stored import moment_text, read_stored
from traindyno.store.studies import get_study, held_study, insert_study, living_holds, lock_study, select_hold
from traindyno.store.trials import latest_attempt

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
        study = get_study(connection, name, now)
    alone = not _has_others(connection, study.id, owner, now)
    join_study(connection, name, owner, seconds, now, begins=True)
    return study, alone


def join_study(connection: Connection, name: str, owner: str, seconds: float, now: float, begins: bool = False) -> Held:
    """Take part in a study. Who finds no living owner becomes it, and the study runs; nobody is refused.

    One that has failed stays so for those who were in it, until somebody `begins` anew. While another owns it nothing
    is written: the row would be the one that all wait for.
    """
    held = _held(connection, name, now)
    if _is_of_another(held, owner, now):
        return Held(owner=held.owner, state=held.state)
    lock_study(connection, name)
    held = _held(connection, name, now)
    if _is_of_another(held, owner, now):
        return Held(owner=held.owner, state=held.state)
    state: StudyState = "failed" if held.state == "failed" and not begins else "running"
    values = {"owner": owner, "expires": now + seconds, "fence": held.fence + 1, "state": state}
    connection.execute(update(studies).where(studies.c.id == held.id).values(**values))
    return Held(owner=owner, state=state)


def _held(connection: Connection, name: str, now: float) -> Any:
    """The study's row without what takes long to read; an unknown name is refused."""
    columns = select(studies.c.id, studies.c.owner, studies.c.expires, studies.c.fence, studies.c.state)
    row = connection.execute(columns.where(studies.c.name == name)).one_or_none()
    if row is None:
        get_study(connection, name, now)
    assert row is not None, "who reads a study that is not there is told so"
    return row


def _is_of_another(held: Any, owner: str, now: float) -> bool:
    return held.owner != owner and is_live(held.owner, held.expires, now)


def _has_others(connection: Connection, study_id: int, owner: str, now: float) -> bool:
    """Whether others take part; usually its owner tells, without all who have a trial of it."""
    held = connection.execute(select_hold().where(studies.c.id == study_id)).one()
    return _is_of_another(held, owner, now) or bool(others_in(connection, study_id, owner, now))


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


def queued_trials(
    connection: Connection, study_id: int, now: float, known: Mapping[int, TrialSpec]
) -> list[QueuedTrial]:
    """Every trial of a study, in the order in which they were asked for. A spec never changes, and is read once."""
    newest = max(known, default=0)
    unread = select(trials.c.id, trials.c.spec).where(trials.c.study_id == study_id, trials.c.id > newest)
    specs = dict(known)
    for row in connection.execute(unread):
        specs[row.id] = read_stored(row.spec, TrialSpec, "a trial of the study")
    rows = select(*_COLUMNS, attempts.c.outcome, _losses()).select_from(trials).outerjoin(attempts, latest_attempt())
    ordered = rows.where(trials.c.study_id == study_id).order_by(trials.c.ordinal, trials.c.id)
    return [_queued(row, specs[row.id], now) for row in connection.execute(ordered).all()]


_COLUMNS = (trials.c.id, trials.c.ordinal, trials.c.owner, trials.c.expires, trials.c.committed_fence)


def _losses() -> ColumnElement[int]:
    """How many losses a trial has whose latest result is one: of any other nobody asks."""
    lost, every = [each.value for each in LOSSES], attempts.alias()
    count = select(func.count()).where(every.c.trial_id == trials.c.id, every.c.outcome.in_(lost)).scalar_subquery()
    return case((attempts.c.outcome.in_(lost), count), else_=0).label("losses")


def _queued(row: Row[Any], spec: TrialSpec, now: float) -> QueuedTrial:
    return QueuedTrial(
        id=row.id,
        ordinal=row.ordinal,
        spec=spec,
        outcome=None if row.outcome is None else Outcome(row.outcome),
        fence=row.committed_fence,
        in_hands=is_live(row.owner, row.expires, now),
        losses=row.losses,
        is_here=row.owner is not None and other_machine(row.owner) is None,
    )
