"""Beginning a study that several processes may run, going on with it, or taking part in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from traindyno.app.attempt import LEASE_SECONDS
from traindyno.app.context import Context
from traindyno.app.cut_short import without_cut
from traindyno.app.shared_study import SharedStudy
from traindyno.app.shared_view import LOST
from traindyno.app.workshop import Workshop
from traindyno.core.errors import UsageError
from traindyno.core.events import StudyStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.store.ledger import StudyRow, owner_here

Shared = TypeVar("Shared", RoundRequest, AdoptRequest)


@contextmanager
def open_shared(
    workshop: Workshop,
    context: Context,
    name: str,
    request: Shared,
    title: str,
    *,
    agreed: Callable[[Shared, Shared], Shared],
    standing: Callable[[Sequence[TrialRecord]], str | None] = lambda _: None,
) -> Iterator[SharedStudy]:
    """Begin the study of that name, go on with it, or take part in it; it is left whatever happens.

    `agreed` says what a study is asked from now on, from what it was asked before and now; it refuses what cannot be.
    """
    ledger, owner, command = workshop.ledger, owner_here(), str(request.__struct_config__.tag)
    settle = partial(_settled, request=request, agreed=agreed)
    row, alone = ledger.take_part(name, command, request, workshop.machine, settle, owner, LEASE_SECONDS)
    study = SharedStudy(workshop, row, context, title, standing, alone=alone)
    if alone:
        _begin_again(study, row)
    kept = len(study.records) if alone else row.trials
    context.emit(StudyStarted(study=name, command=command, title=title, resumed_trials=kept))
    with study.held():
        yield study


def _settled(row: StudyRow, request: Shared, agreed: Callable[[Shared, Shared], Shared]) -> Shared:
    """What the study is asked from now on."""
    if not isinstance(row.request, type(request)):
        raise UsageError(f"there is already a study named {row.name!r}, one of `{row.command}`", "choose another name")
    return agreed(row.request, request)


def _begin_again(study: SharedStudy, row: StudyRow) -> None:
    """Whoever goes on alone gives what was lost another chance, and what stopped the study."""
    bugs = (Outcome.USER_ERROR, Outcome.DATA_ERROR) if row.state == "failed" else ()
    study.doubt((*LOST, *bugs))
    if (warnings := without_cut(row.warnings)) != row.warnings:
        study.workshop.ledger.finish(row.name, "running", row.answer, warnings)
