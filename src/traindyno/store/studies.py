"""Studies in the database: created, claimed by one runner at a time, finished."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from traindyno.core.codec import encode
from traindyno.core.errors import TraindynoError
from traindyno.core.machine import MachineFacts
from traindyno.core.requests import Request
from traindyno.core.resuming import resume_command
from traindyno.store.names import check_name, is_name, proposed_names, taken_name, unknown_name
from traindyno.store.owners import describe_owner, is_live
from traindyno.store.rows import StudyRow, StudyState
from traindyno.store.schema import studies, trials
from traindyno.store.stored import moment, moment_text, read_stored


class Hold(NamedTuple):
    """Who runs a study, and until when that is respected without another word."""

    owner: str
    expires: float


def create_study(
    connection: Connection,
    name: str | None,
    command: str,
    request: Request,
    machine: MachineFacts | None,
    now: float,
    hold: Hold | None = None,
    asked_before: bool = False,
    store_option: str = "",
) -> StudyRow:
    """Write a new study under its name, or under one made from the command and the time, in the hands of `hold`.

    Who has `asked_before` and did not hear the answer may have written it already.
    """
    candidates = proposed_names(command, moment(now)) if name is None else iter([check_name(name)])
    own = _unheard(connection, name, request, hold) if asked_before and hold is not None else None
    if own is not None:
        return get_study(connection, own, now)
    for candidate in candidates:
        if insert_study(connection, candidate, command, request, machine, now, hold):
            return get_study(connection, candidate, now)
    taken = get_study(connection, str(name), now)
    resuming = f"{resume_command(taken.name, taken.request)}{store_option}"
    raise taken_name(taken.name, resuming, failed=taken.state == "failed")


def _unheard(connection: Connection, name: str | None, request: Request, hold: Hold) -> str | None:
    """The name of the study that this owner wrote and never claimed: the server went before it could say so."""
    own = select(studies.c.name).where(studies.c.owner == hold.owner, studies.c.fence == 0)
    same = own.where(studies.c.request == encode(request))
    return connection.scalar(same if name is None else same.where(studies.c.name == name))


def insert_study(
    connection: Connection,
    name: str,
    command: str,
    request: Request,
    machine: MachineFacts | None,
    now: float,
    hold: Hold | None = None,
) -> bool:
    """Whether the study went in; the name's uniqueness decides, also when two write at once."""
    values = {
        "name": name,
        "command": command,
        "state": "running",
        "created": moment_text(now),
        "updated": moment_text(now),
        "request": encode(request),
        "machine": encode(machine),
        "answer": encode(None),
        "warnings": encode(()),
        "owner": None if hold is None else hold.owner,
        "expires": None if hold is None else hold.expires,
        "fence": 0,
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(studies).values(**values))
    except IntegrityError:
        return False
    return True


def lock_study(connection: Connection, name_or_id: str | int) -> None:
    """Let nobody else write about a study until the transaction ends. In a file that holds for any transaction."""
    column = studies.c.id if isinstance(name_or_id, int) else studies.c.name
    connection.execute(select(studies.c.id).where(column == name_or_id).with_for_update(key_share=True))


def get_study(connection: Connection, name: str, now: float) -> StudyRow:
    known = _select_studies().where(studies.c.name == name)
    row = connection.execute(known).one_or_none() if is_name(name) else None
    if row is None:
        raise unknown_name(name, _names(connection))
    return _study(connection, row, now)


def list_studies(connection: Connection, now: float) -> list[StudyRow]:
    """All studies, newest first."""
    rows = connection.execute(_select_studies().order_by(studies.c.id.desc())).all()
    return [_study(connection, row, now) for row in rows]


def claim_study(connection: Connection, name: str, owner: str, seconds: float, now: float) -> StudyRow:
    """Make the owner the one runner of a study, unless another that lives has it."""
    lock_study(connection, name)
    study = get_study(connection, name, now)
    held = connection.execute(select_hold().where(studies.c.id == study.id)).one()
    if held.owner != owner and is_live(held.owner, held.expires, now):
        raise held_study(study, held.owner)
    claim = update(studies).where(studies.c.id == study.id, studies.c.fence == held.fence)
    values = {"owner": owner, "expires": now + seconds, "fence": held.fence + 1, "state": "running"}
    if connection.execute(claim.values(updated=moment_text(now), **values)).rowcount != 1:
        raise held_study(study, "another process")
    return get_study(connection, name, now)


def renew_study(connection: Connection, name: str, owner: str, seconds: float, now: float) -> bool:
    """Extend a claim; false when the study now belongs to someone else."""
    renewal = update(studies).where(studies.c.name == name, studies.c.owner == owner)
    return connection.execute(renewal.values(expires=now + seconds)).rowcount == 1


def release_study(connection: Connection, name: str, owner: str, now: float) -> None:
    """Give a claim up; a study left while running counts as interrupted. Another's claim is left alone.

    Where others have trials of it in their hands, it goes on: it is theirs now.
    """
    study_id = connection.scalar(select(studies.c.id).where(studies.c.name == name, studies.c.owner == owner))
    if study_id is None:
        return
    lock_study(connection, name)
    held = update(studies).where(studies.c.name == name, studies.c.owner == owner)
    heirs = [hold for hold in living_holds(connection, study_id, now) if hold.owner != owner]
    if heirs:
        connection.execute(held.values(owner=heirs[0].owner, expires=heirs[0].expires))
        return
    left = held.where(studies.c.state == "running")
    connection.execute(left.values(state="interrupted", updated=moment_text(now)))
    connection.execute(held.values(owner=None, expires=None))


def finish_study(
    connection: Connection,
    name: str,
    state: StudyState,
    answer: Any,
    warnings: Sequence[str],
    owner: str | None,
    now: float,
) -> None:
    """Store what a study concludes. A given owner must not have lost the study to another meanwhile."""
    lock_study(connection, name)
    study = get_study(connection, name, now)
    if owner is not None and study.owner is not None and study.owner != owner:
        raise held_study(study, study.owner)
    finished = update(studies).where(studies.c.id == study.id)
    values = {"state": state, "answer": encode(answer), "warnings": encode(tuple(warnings))}
    connection.execute(finished.values(updated=moment_text(now), **values))


def amend_request(connection: Connection, name: str, request: Request) -> None:
    """Write down what a study was asked since."""
    connection.execute(update(studies).where(studies.c.name == name).values(request=encode(request)))


def living_holds(connection: Connection, study_id: int | None, now: float) -> list[Any]:
    """Who lives and has a trial of the study, with the end of that lease."""
    holds = select(trials.c.owner, trials.c.expires).where(trials.c.study_id == study_id, trials.c.owner.is_not(None))
    return [hold for hold in connection.execute(holds).all() if is_live(hold.owner, hold.expires, now)]


def touch_study(connection: Connection, study_id: int, now: float) -> None:
    """Once in a second is enough, and spares those who keep results of one study from waiting for each other."""
    untouched = studies.c.id == study_id, studies.c.updated < moment_text(now)
    connection.execute(update(studies).where(*untouched).values(updated=moment_text(now)))


def _select_studies() -> Select[Any]:
    committed = select(func.count(trials.c.committed_fence)).where(trials.c.study_id == studies.c.id)
    return select(studies, committed.scalar_subquery().label("trials"))


def select_hold() -> Select[Any]:
    return select(studies.c.owner, studies.c.expires, studies.c.fence)


def _names(connection: Connection) -> list[str]:
    return list(connection.scalars(select(studies.c.name).order_by(studies.c.id.desc())))


def _study(connection: Connection, row: Row[Any], now: float) -> StudyRow:
    """The study as it stands: one whose runners all died is interrupted, whatever they last wrote."""
    lost = row.state == "running" and row.owner is not None and not is_live(row.owner, row.expires, now)
    abandoned = lost and not living_holds(connection, row.id, now)
    what = f"the study {row.name!r}"
    return StudyRow(
        id=row.id,
        name=row.name,
        command=row.command,
        state="interrupted" if abandoned else row.state,
        created=row.created,
        updated=row.updated,
        request=read_stored(row.request, Request, what),
        machine=read_stored(row.machine, MachineFacts | None, what),
        answer=read_stored(row.answer, Any, what),
        warnings=read_stored(row.warnings, tuple[str, ...], what),
        trials=row.trials,
        owner=row.owner,
    )


def held_study(study: StudyRow, owner: str) -> TraindynoError:
    """The error for a study that somebody else runs."""
    resuming = resume_command(study.name, study.request)
    return TraindynoError(
        f"the study {study.name!r} is being run by {describe_owner(owner)}",
        f"wait until it ends, or stop it there with Ctrl-C and then `{resuming}`",
    )
