"""Studies that are removed for good, with their trials and results."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, select

from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import Outcome
from traindyno.store.owners import describe_owner, is_live
from traindyno.store.rows import StudyRow
from traindyno.store.schema import attempts, studies, trials
from traindyno.store.studies import get_study, living_holds, lock_study, select_hold


def delete_studies(connection: Connection, names: Sequence[str], now: float) -> list[StudyRow]:
    """Remove all of them, or none where one is unknown or runs now; what they were is returned."""
    found = []
    for name in sorted(set(names)):  # in one order, so that two who delete the same do not wait for each other
        lock_study(connection, name)
        found.append(get_study(connection, name, now))
        _check_idle(connection, found[-1], now)
    for study in found:
        own = select(trials.c.id).where(trials.c.study_id == study.id)
        connection.execute(delete(attempts).where(attempts.c.trial_id.in_(own)))
        connection.execute(delete(trials).where(trials.c.study_id == study.id))
        connection.execute(delete(studies).where(studies.c.id == study.id))
    return found


def free_name(connection: Connection, name: str, now: float) -> None:
    """Remove a study of this name that failed before it measured anything: a slip must not cost a name."""
    named = select(studies.c.id).where(studies.c.name == name, studies.c.state == "failed")
    study_id = connection.scalar(named)
    if study_id is None:
        return
    measured = select(func.count()).select_from(attempts.join(trials, attempts.c.trial_id == trials.c.id))
    if connection.scalar(measured.where(trials.c.study_id == study_id, attempts.c.outcome == Outcome.OK)) == 0:
        delete_studies(connection, [name], now)


def _check_idle(connection: Connection, study: StudyRow, now: float) -> None:
    """Whoever runs it would lose what it is about to keep."""
    own = connection.execute(select_hold().where(studies.c.id == study.id)).all()
    living = [hold for hold in own if is_live(hold.owner, hold.expires, now)]
    for hold in (*living, *living_holds(connection, study.id, now)):
        raise TraindynoError(
            f"the study {study.name!r} is being run by {describe_owner(hold.owner)}",
            "wait until it ends, or stop it there with Ctrl-C, and delete it then",
        )
