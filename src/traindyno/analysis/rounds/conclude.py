"""From the runs of a round to its answer: checks first, then what they allow to be said."""

import statistics
from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.arms import arm_row, best_found, draws_by_arm, gate_scores, is_inside, runs_by_arm
from traindyno.analysis.rounds.best_of_k import best_of_k
from traindyno.analysis.rounds.checks import check_round
from traindyno.analysis.rounds.importance import importance_in
from traindyno.analysis.rounds.isolation import isolate
from traindyno.analysis.rounds.origin import find_origin
from traindyno.analysis.rounds.ranges import propose_ranges
from traindyno.analysis.rounds.trials import round_trials, tuning
from traindyno.analysis.rounds.verdicts import round_verdicts
from traindyno.analysis.rounds.words import with_own_figures
from traindyno.core.answers.rounds import AdoptVerdict, Check, RoundAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import RoundRequest
from traindyno.core.round_space import incumbent_of, planned_trials
from traindyno.core.rounds import Round, RoundTrial


def conclude_round(
    request: RoundRequest,
    records: Sequence[TrialRecord],
    *,
    seconds: float,
    simulated: bool,
    adopted: AdoptVerdict | None = None,
    study: str | None = None,
) -> RoundAnswer:
    """What the runs so far show. `adopted` is what fresh seeds have said since, if they did.

    `study` is for commands to type, where it has another name than the round.
    """
    round_ = request.round
    trials = round_trials(round_, records)
    if not trials:
        raise NothingMeasuredError("no run of the round has come to an end yet", "run it with `traindyno round run`")
    round_ = with_own_figures(round_, trials)
    answer = conclude_trials(round_, trials, check_round(round_, trials))
    concluded = msgspec.structs.replace(answer, seconds=seconds, simulated=simulated, adopted=adopted)
    named = msgspec.structs.replace(round_, name=study or round_.name)
    return msgspec.structs.replace(concluded, verdicts=round_verdicts(named, concluded))


def conclude_trials(round_: Round, trials: Sequence[RoundTrial], checks: tuple[Check, ...]) -> RoundAnswer:
    """All figures of an answer; its sentences are added when it is whole."""
    runs, draws, gate = runs_by_arm(round_, trials), draws_by_arm(round_, trials), gate_scores(trials)
    arms = tuple(arm_row(round_, arm, each) for arm, each in runs.items())
    best = best_found(round_, [run for each in runs.values() for run in each])
    spread = statistics.stdev(gate) if len(gate) > 1 else None
    curves = tuple(best_of_k(round_, arm, each, spread) for arm, each in draws.items() if each)
    importance = tuple(row for arm, each in draws.items() for row in importance_in(round_, arm, each))
    return RoundAnswer(
        round=round_.name,
        campaign=round_.campaign,
        goal=round_.goal.kind,
        question=round_.goal.question,
        metric=round_.metric.name,
        higher_is_better=round_.metric.higher_is_better,
        target=None if round_.target is None else round_.target.name,
        ready=best is not None and not any(check.state == "failed" for check in checks),
        checks=checks,
        arms=arms,
        isolation=isolate(round_, draws, spread),
        best_of_k=curves,
        importance=importance,
        proposals=propose_ranges(round_, trials, importance, curves),
        incumbent=incumbent_of(round_),
        incumbent_scores=gate,
        best=best,
        origin=find_origin(round_, arms, best, gate),
        runs=tuple(_placed(round_, each) for each in trials),
        planned_trials=_planned(round_, trials),
    )


def _planned(round_: Round, trials: Sequence[RoundTrial]) -> int:
    """Runs in all, with those that were drawn where the round does not search any more; 0 where its budget is time."""
    planned = planned_trials(round_)
    elsewhere = sum(not is_inside(round_, each) for each in tuning(trials))
    return 0 if planned is None else planned + elsewhere


def _placed(round_: Round, trial: RoundTrial) -> RoundTrial:
    """The run with whether its values are still searched; the incumbent's need not be."""
    inside = trial.draw.phase == "gate" or is_inside(round_, trial)
    return msgspec.structs.replace(trial, inside=inside)
