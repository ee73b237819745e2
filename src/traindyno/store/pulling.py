"""Studies of more processes than could each read all of it: one plans in its turn, all take the next that waits."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Update, case, func, insert, select, update

from traindyno.core.codec import encode
from traindyno.core.errors import TraindynoError
from traindyno.core.records import TrialSpec
from traindyno.store.owners import is_live, other_machine, pattern_here
from traindyno.store.rows import Lease, Running, Taken, Turn
from traindyno.store.schema import is_held, is_untouched, studies, trials
from traindyno.store.stored import read_stored
from traindyno.store.studies import lock_study


def enqueue_all_if(connection: Connection, study_id: int, specs: Sequence[TrialSpec], known_trials: int) -> bool:
    """Write new trials in their order, which ends the turn of who planned them.

    False, and none, when the study has grown since its `known_trials` were read.
    """
    lock_study(connection, study_id)
    if connection.scalar(select(func.count(trials.c.id)).where(trials.c.study_id == study_id)) != known_trials:
        return False
    rows = [
        {"study_id": study_id, "key": spec.key, "ordinal": ordinal, "spec": encode(spec), "fence": 0}
        for ordinal, spec in enumerate(specs, known_trials + 1)
    ]
    connection.execute(insert(trials), rows)
    planned = update(studies).where(studies.c.id == study_id, studies.c.planner.is_not(None))
    connection.execute(planned.values(planner=None, planner_expires=None))
    return True


def lease_next(
    connection: Connection,
    study_id: int,
    owner: str,
    seconds: float,
    now: float,
    count_left: int = 0,
    asked_before: bool = False,
) -> Taken | None:
    """The right to run the next trial without a result that nobody runs; null when there is none.

    First those whose lease has expired. Of who died on this machine before that, and of results that do not count, who
    reads the whole study knows. A row that another is just taking is passed over: takers do not wait for each other.
    Who has `asked_before` and did not hear the answer may have one in its own hands already.
    """
    here = trials.c.study_id == study_id
    unfinished = here & trials.c.committed_fence.is_(None) & is_held
    expired = select(trials.c.id).where(unfinished, trials.c.expires <= now).order_by(trials.c.expires)
    places = [expired, select(trials.c.id).where(here, is_untouched).order_by(trials.c.ordinal)]
    if asked_before:
        places.insert(0, select(trials.c.id).where(unfinished, trials.c.owner == owner))
    for place in places:
        row = connection.execute(_claim(place, owner, now + seconds)).one_or_none()
        if row is not None:
            return _taken(row, owner, _count_waiting(connection, study_id, count_left))
    return None


def _claim(place: Any, owner: str, expires: float) -> Update:
    """Lease the first trial there, in one statement."""
    first = place.limit(1).with_for_update(key_share=True, skip_locked=True).scalar_subquery()
    claim = update(trials).where(trials.c.id == first)
    changed = claim.values(owner=owner, expires=expires, fence=trials.c.fence + 1)
    return changed.returning(trials.c.id, trials.c.fence, trials.c.ordinal, trials.c.spec)


def _taken(row: Row[Any], owner: str, left: int) -> Taken:
    return Taken(
        lease=Lease(trial_id=row.id, fence=row.fence, owner=owner),
        ordinal=row.ordinal,
        spec=read_stored(row.spec, TrialSpec, "a trial of the study"),
        left=left,
    )


def _count_waiting(connection: Connection, study_id: int, most: int) -> int:
    if most == 0:
        return 0
    waiting = select(trials.c.id).where(trials.c.study_id == study_id, is_untouched)
    # In their order, or PostgreSQL would rather read the table from its beginning, where all have ended.
    first = waiting.order_by(trials.c.ordinal).limit(most).subquery()
    return connection.scalar(select(func.count()).select_from(first)) or 0


def take_turn(
    connection: Connection, study_id: int, owner: str, seconds: float, now: float, has_news: bool = False
) -> Turn:
    """Be the one who plans for so long, unless another does now. Where there was nothing to plan, one needs news."""
    turn = _turn(connection, study_id, owner, now, has_news)
    if not turn.is_mine:
        return turn
    lock_study(connection, study_id)
    turn = _turn(connection, study_id, owner, now, has_news)
    if turn.is_mine:
        taken = update(studies).where(studies.c.id == study_id)
        connection.execute(taken.values(planner=owner, planner_expires=now + seconds))
    return turn


def _turn(connection: Connection, study_id: int, owner: str, now: float, has_news: bool) -> Turn:
    columns = select(studies.c.state, studies.c.planner, studies.c.planner_expires)
    study = connection.execute(columns.where(studies.c.id == study_id)).one_or_none()
    if study is None:
        raise TraindynoError("the study is not in the store any more", "somebody has deleted it; begin it anew")
    rests = study.planner is None and study.planner_expires is not None and study.planner_expires > now
    another = study.planner != owner and is_live(study.planner, study.planner_expires, now)
    return Turn(is_mine=not another and (has_news or not rests), state=study.state, rests=rests)


def end_turn(connection: Connection, study_id: int, owner: str, rest_seconds: float, now: float) -> None:
    """Leave planning to others; for so long it is of no use to who has no news."""
    mine = update(studies).where(studies.c.id == study_id, studies.c.planner == owner)
    connection.execute(mine.values(planner=None, planner_expires=now + rest_seconds if rest_seconds else None))


def running_now(connection: Connection, study_id: int, now: float, one_by_one: int) -> Running:
    """How many trials of a study are run now. Of few, up to `one_by_one`, it is known whether their process lives."""
    held = select(trials.c.owner, trials.c.expires).where(
        trials.c.study_id == study_id, is_held, trials.c.expires > now
    )
    few = connection.execute(held.limit(one_by_one + 1)).all()
    if len(few) <= one_by_one:
        alive = [hold.owner for hold in few if is_live(hold.owner, hold.expires, now)]
        return Running(trials=len(alive), here=sum(other_machine(owner) is None for owner in alive))
    many = held.subquery()
    here = func.sum(case((many.c.owner.like(pattern_here()), 1), else_=0))
    counted = connection.execute(select(func.count(), here).select_from(many)).one()
    return Running(trials=counted[0], here=int(counted[1] or 0))
