"""Proving the best of a round against the incumbent with fresh seeds, and deciding."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.rounds.adoption import conclude_adoption
from traindyno.analysis.rounds.adoption_runs import LOST
from traindyno.analysis.rounds.adoption_verdicts import further_look
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import without_deadline
from traindyno.app.rounds.adopt_request import adopt_name
from traindyno.app.rounds.partners import beside, check_processes, further_processes, sharing_cpus
from traindyno.app.shared_opening import open_shared
from traindyno.app.shared_study import SharedStudy
from traindyno.app.sources import NamedAgain, moved_code
from traindyno.app.specs import first_spec
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document
from traindyno.core.answers.rounds import AdoptAnswer
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.requests import AdoptRequest, Bench, workloads_of
from traindyno.core.resuming import adopt_command
from traindyno.core.units import count_of
from traindyno.search.rounds.strategy import AdoptStrategy
from traindyno.search.strategy import SharedStrategy
from traindyno.store.ledger import owner_here


def adopt(
    request: AdoptRequest,
    context: Context,
    named_again: NamedAgain = (),
    remarks: tuple[str, ...] = (),
    processes: int = 1,
) -> Document:
    """Run every candidate with the same fresh seeds, then conclude.

    Code of the user's own runs only if it is named now. `remarks` are told beside the answer. `processes` is how many
    run it here, this one among them.
    """
    check_processes(processes, request.bench)
    if context.resume is None:
        context = replace(context, moved=moved_code(workloads_of(request), named_again))
    with sharing_cpus(processes, request.bench), driving_adoption(request, context) as (study, strategy):
        assert isinstance(study.row.request, AdoptRequest)
        check_processes(processes, study.workshop.bench)
        further = further_processes(processes, study.workshop)
        with beside(further, request, context, study.workshop.log_folder / study.row.name):
            study.drive(strategy)
        request = msgspec.structs.replace(study.row.request, bench=study.workshop.bench)
        answer = _concluded(study, request)
        warnings = (*remarks, *cautions(study.records))
        return finished_document(study, request, answer, warnings, _hint(study, request, answer, context.moved))


@contextmanager
def driving_adoption(request: AdoptRequest, context: Context) -> Iterator[tuple[SharedStudy, SharedStrategy]]:
    """The study of a proof, joined, and what it is to follow."""
    with open_workshop(without_deadline(request.bench), context.store, pinned=False) as workshop:
        # Other processes beside this one make runs slower, but not their scores others.
        workshop = replace(workshop, neighbour=None)
        request = msgspec.structs.replace(request, bench=workshop.bench)
        candidates, seeds = count_of(len(request.candidates) - 1, "candidate"), request.looks[-1]
        title = f"{candidates} against the incumbent of {request.round_study}, {seeds} fresh seeds of each"
        name = context.resume or context.name or adopt_name(request.round_study)
        with open_shared(
            workshop, context, name, request, f"{title}, on {workshop.bench.device}", agreed=agreed_adoption
        ) as study:
            _doubt_lost(study)
            assert isinstance(study.row.request, AdoptRequest)
            request = msgspec.structs.replace(study.row.request, bench=workshop.bench)
            yield study, AdoptStrategy(request, first_spec(workshop, request.workload))


def agreed_adoption(before: AdoptRequest, now: AdoptRequest) -> AdoptRequest:
    """What the study is asked from now on: the same proof, perhaps with more seeds or at another price."""
    same = all(getattr(before, part) == getattr(now, part) for part in ("candidates", "first_seed", "round_study"))
    if not same:
        raise UsageError(
            f"the proof of {now.round_study} was begun with other candidates, and each further one asks luck again",
            "leave --arm away, or ask about the others in a round of their own: give its file another `name`",
        )
    for what, then, here in _conditions(before.bench, now.bench):
        if then != here:
            raise UsageError(
                f"the proof of {now.round_study} was begun with {what} {then}; here it is {here}",
                "their runs cannot be mixed: go on as it was begun",
            )
    may_change = ("looks", "round", "failed_checks")
    return now if any(getattr(before, part) != getattr(now, part) for part in may_change) else before


def _conditions(before: Bench, now: Bench) -> tuple[tuple[str, str, str], ...]:
    """What the runs of one proof must share: `cpu`, `cuda` or `simulated`, and the precision."""
    then, here = (bench.device.partition(":")[0] for bench in (before, now))
    return ("runs on", then, here), ("the precision", f"{before.precision}", f"{now.precision}")


def _doubt_lost(study: SharedStudy) -> None:
    """Make lost runs again, and those that a limit ended, which may be another now; not while others are at it."""
    if not study.workshop.ledger.others_in(study.row.id, owner_here()):
        study.doubt((*LOST, *((Outcome.USER_ERROR,) if study.row.state == "failed" else ())))


def _concluded(study: SharedStudy, request: AdoptRequest) -> AdoptAnswer:
    simulated = study.workshop.runner.simulated
    try:
        return conclude_adoption(request, study.records, seconds=study.seconds, simulated=simulated)
    except NothingMeasuredError as error:
        raise study.cut_before("run came to its end") or error from None


def _hint(study: SharedStudy, request: AdoptRequest, answer: AdoptAnswer, moved: Mapping[str, str]) -> str:
    """More seeds where they would decide, the same again where runs were lost, and else the round that follows."""
    if answer.seeds < request.looks[-1]:
        despite = ["--despite-checks"] if answer.failed_checks else []
        again = adopt_command(request.round, *despite, study=request.round_study, moved=moved)
        return f"{again}{study.store_option}"
    if answer.needed_seeds is not None:
        return f"{further_look(answer, request, moved)}{study.store_option}"
    return f"traindyno round next {request.round_study}{study.store_option}"
