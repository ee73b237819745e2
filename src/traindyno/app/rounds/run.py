"""Running a round: the gate, the search in every arm, and what they have shown so far."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.rounds.arms import all_inside
from traindyno.analysis.rounds.next_steps import writes_file
from traindyno.analysis.rounds.trials import best_first, round_trials, tuning
from traindyno.analysis.rounds.words import arm_words, is_share, with_own_figures
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import without_deadline
from traindyno.app.places import machine_differences
from traindyno.app.rounds.agreement import agreed_round
from traindyno.app.rounds.hours import bounded
from traindyno.app.rounds.partners import beside, check_processes, further_processes, sharing_cpus
from traindyno.app.rounds.requests import check_round_request
from traindyno.app.shared_opening import open_shared
from traindyno.app.shared_study import SharedStudy
from traindyno.app.specs import first_spec
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document
from traindyno.core.answers.rounds import Check, RoundAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import RoundRequest
from traindyno.core.resuming import adopt_command
from traindyno.core.rounds import Round
from traindyno.search.strategy import SharedStrategy

GATE = "gate"


def run_round(request: RoundRequest, context: Context, processes: int = 1) -> Document:
    """Run the round, or go on with it, or take part in it if others run it now; then say what it has shown.

    `processes` is how many run it here, this one among them.
    """
    check_processes(processes, request.bench)
    with sharing_cpus(processes, request.bench), driving(request, context, processes) as (study, strategy):
        further = further_processes(processes, study.workshop)
        with beside(further, request, context, study.workshop.log_folder / study.row.name):
            study.drive(strategy)
        return _told(study, context)


def help_round(request: RoundRequest, context: Context) -> None:
    """Take part in a round that others began; where nobody else has said what it has shown, do."""
    with driving(request, context) as (study, strategy):
        study.drive(strategy)
        if not study.is_concluded:
            _told(study, context)


def _told(study: SharedStudy, context: Context) -> Document:
    """What the round has shown, written down. How runs failed is told by the answer itself."""
    assert isinstance(study.row.request, RoundRequest)
    request = msgspec.structs.replace(study.row.request, bench=study.workshop.bench)
    answer = _concluded(study, request)
    succeeded = [record for record in study.records if record.ok]
    warnings = (
        *_gate_warning(answer),
        *_unseen(request.round, answer),
        *_elsewhere(study),
        *_unlike_machines(succeeded),
        *request.lints,
        *cautions(succeeded),
    )
    return finished_document(study, request, answer, warnings, _hint(study, request, answer, context.moved))


@contextmanager
def driving(
    request: RoundRequest, context: Context, processes: int = 1
) -> Iterator[tuple[SharedStudy, SharedStrategy]]:
    """The study of a round, joined, and what it is to follow."""
    from traindyno.search.rounds.strategy import RoundStrategy

    check_round_request(request)
    with open_workshop(without_deadline(request.bench), context.store, pinned=False) as workshop:
        # Other processes beside this one make runs slower, but not their scores others.
        workshop = replace(workshop, neighbour=None)
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_processes(processes, request.bench)
        check_round_request(request)
        round, template = request.round, first_spec(workshop, request.workload)
        with open_shared(
            workshop,
            context,
            round.name,
            request,
            f"round {round.name}: {question_of(round)}, on {workshop.bench.device}",
            agreed=agreed_round,
            standing=lambda records: best_so_far(round, records),
        ) as study:
            assert isinstance(study.row.request, RoundRequest)
            request = msgspec.structs.replace(study.row.request, bench=workshop.bench)
            yield study, bounded(request.round, RoundStrategy(request, template))


def question_of(round: Round) -> str:
    """The question in the user's own words, or in ours."""
    if round.goal.question is not None:
        return round.goal.question
    if round.target is not None:
        asked = "does it help?" if round.goal.kind == "helps" else "what is its effect?"
        return f"{round.target.name}: {asked}"
    return "a configuration to begin with" if round.goal.kind == "initial" else f"the best {round.metric.name}"


def best_so_far(round: Round, records: Sequence[TrialRecord]) -> str | None:
    """The best score of the search, and its arm; null before there is one."""
    inside = all_inside(round, tuning(round_trials(round, records)))
    best = next(iter(best_first(round.metric, inside)), None)
    if best is None or best.score is None:
        return None
    score = f"{best.score:.1%}" if is_share(with_own_figures(round, inside).metric) else f"{best.score:.4g}"
    arm = f" with {arm_words(round, best.draw.arm)}" if best.draw.arm else ""
    return f"best so far: {round.metric.name} {score}{arm}"


def failed_gate(answer: RoundAnswer) -> Check | None:
    """The check that keeps the round from being tuned; null where nothing does."""
    return next((check for check in answer.checks if check.name == GATE and check.state == "failed"), None)


def _concluded(study: SharedStudy, request: RoundRequest) -> RoundAnswer:
    # It needs scipy, which running does without.
    from traindyno.analysis.rounds.conclude import conclude_round

    simulated = study.workshop.runner.simulated
    try:
        return conclude_round(request, study.records, seconds=study.seconds, simulated=simulated, study=study.row.name)
    except NothingMeasuredError as error:
        raise study.cut_before("run came to its end") or error from None


def _gate_warning(answer: RoundAnswer) -> tuple[str, ...]:
    gate = failed_gate(answer)
    return () if gate is None else (f"Nothing was tuned, for the incumbent did not pass the gate: {gate.text}",)


def _unseen(round: Round, answer: RoundAnswer) -> tuple[str, ...]:
    """A range that was widened without trials for it has no new runs, which a failed check says by itself."""
    from traindyno.analysis.rounds.unseen import unseen_parts

    failed = {check.subject for check in answer.checks if check.state == "failed"}
    return tuple(text for name, text in unseen_parts(round, answer.runs).items() if name not in failed)


def _elsewhere(study: SharedStudy) -> tuple[str, ...]:
    """Scores of two machines or versions may stand in one round, but not in silence."""
    then, now = study.row.machine, study.workshop.machine
    if then is None or study.workshop.runner.simulated:
        return ()
    return tuple(
        f"The round was begun with {what} {before}; here it is {here}."
        for what, before, here in machine_differences(then, now)
    )


def _unlike_machines(records: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Runs over a cluster may be of several kinds of machines, whose times do not compare."""
    kinds = {each.conditions.machine_kind: each.conditions.machine for each in records if each.conditions.machine_kind}
    if len(kinds) < 2:
        return ()
    told = "; ".join(f"{machine}: {kind}" for kind, machine in sorted(kinds.items()))
    return (f"The runs are from machines of {len(kinds)} kinds, and their speeds are not compared: {told}.",)


def _hint(study: SharedStudy, request: RoundRequest, answer: RoundAnswer, moved: Mapping[str, str]) -> str | None:
    """What the first failed check wants; else the command that goes on. A round of `round first` has no file yet."""
    wanted = next((check.next_step for check in answer.checks if check.state == "failed" and check.next_step), None)
    is_first = answer.goal == "initial"
    going_on = "next" if is_first and (answer.ready or wanted) else "analyse"
    command = f"traindyno round {going_on} {study.row.name}{study.store_option}"
    if wanted is None:
        proof = adopt_command(request.round, study=study.row.name, moved=moved)
        return f"{proof}{study.store_option}" if answer.ready and not is_first else command
    return f"{wanted} `{command}` writes a file to change." if is_first and not writes_file(wanted) else wanted
