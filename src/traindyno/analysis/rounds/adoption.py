"""From fresh seeds to the decision whether a new configuration takes the incumbent's place.

The search's own runs never count: the best of many flatters itself. Nothing is tested before all runs of a look are
there, for whoever tests on the way looks more often than the error was shared out for.
"""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.adoption_choice import Judged, best_of, judge_candidates, told_apart
from traindyno.analysis.rounds.adoption_pending import no_score, still_to_come
from traindyno.analysis.rounds.adoption_runs import CandidateRuns, candidate_runs, completed_looks
from traindyno.analysis.rounds.adoption_verdicts import adoption_verdicts
from traindyno.analysis.rounds.evidence import effect_to_show
from traindyno.analysis.rounds.power import level_of_look, seeds_to_show, spent_before
from traindyno.analysis.rounds.simplicity import is_simpler
from traindyno.analysis.rounds.target_effect import target_effects
from traindyno.core.answers.rounds import AdoptAnswer, CandidateRow
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest
from traindyno.core.rounds import Configuration


def conclude_adoption(
    request: AdoptRequest, records: Sequence[TrialRecord], *, seconds: float, simulated: bool
) -> AdoptAnswer:
    """Every candidate against the incumbent, and the verdict on the best of them.

    It is that of the latest look whose runs are all there: what was decided stands while a further look is on its way.
    """
    seen = completed_looks(request, records)
    asked = msgspec.structs.replace(request, looks=seen or request.looks)
    answer = _at_latest_look(asked, records, seconds=seconds, simulated=simulated)
    if asked.looks == request.looks:
        return answer
    further = still_to_come(request, candidate_runs(request, records), f"look {len(seen) + 1}", "what was decided")
    return msgspec.structs.replace(answer, verdicts=(*answer.verdicts, *further))


def _at_latest_look(
    request: AdoptRequest, records: Sequence[TrialRecord], *, seconds: float, simulated: bool
) -> AdoptAnswer:
    incumbent, *others = candidate_runs(request, records)
    if not any(runs.whole for runs in (incumbent, *others)):
        raise no_score(request, records)
    look = len(request.looks) - 1
    level = level_of_look(look)
    judged = judge_candidates(incumbent, others, level, request.round.minimum_gain)
    target = request.round.target
    winner = best_of(judged, level, request.round.minimum_gain, None if target is None else target.field)
    decided = winner if winner is not None and winner.evidence is not None else None
    evidence = None if decided is None else decided.evidence
    needed = _needed(decided, request, incumbent, tests=len(others))
    answer = AdoptAnswer(
        round=request.round.name,
        campaign=request.round.campaign,
        goal=request.round.goal.kind,
        question=request.round.goal.question,
        metric=request.round.metric.name,
        higher_is_better=request.round.metric.higher_is_better,
        verdict=(None if decided is None else decided.verdict) or "undecided",
        winner=None if winner is None else winner.runs.label,
        p_value=None if decided is None else decided.p_value,
        gain=None if evidence is None else evidence.gain,
        ci95=None if evidence is None else evidence.ci95,
        seeds=min(len(runs.trials) for runs in (incumbent, *others)),
        needed_seeds=needed,
        minimum_gain=request.round.minimum_gain,
        level=level,
        spent=spent_before(look),
        rows=(_row(Judged(runs=incumbent)), *(_row(each) for each in judged)),
        configuration=_held(request, decided),
        commit=request.commit,
        seconds=seconds,
        simulated=simulated,
        failed_checks=request.failed_checks,
        effects=target_effects(request, judged, level),
    )
    return _with_verdicts(answer, request, incumbent, judged)


def _needed(decided: Judged | None, request: AdoptRequest, incumbent: CandidateRuns, tests: int) -> int | None:
    """The seeds of each that would about decide it, at the look that comes next."""
    if decided is None or decided.evidence is None or decided.verdict != "undecided" or decided.evidence.spreadless:
        return None
    price = 0.0 if incumbent.failed > decided.runs.failed else request.round.minimum_gain
    return seeds_to_show(
        effect_to_show(decided.evidence, price),
        decided.evidence.variance,
        beyond=request.looks[-1],
        level=level_of_look(len(request.looks)),
        tests=tests,
    )


def _held(request: AdoptRequest, decided: Judged | None) -> Configuration:
    """What is trained with from now on: of two that are equal, the simpler one."""
    incumbent = request.candidates[0].values
    if decided is None:
        return incumbent
    taken = decided.verdict == "adopt" or (
        decided.verdict == "equivalent" and is_simpler(decided.runs.candidate.values, incumbent)
    )
    return decided.runs.candidate.values if taken else incumbent


def _row(judged: Judged) -> CandidateRow:
    runs, evidence = judged.runs, judged.evidence
    return CandidateRow(
        label=runs.label,
        configuration=runs.candidate.values,
        changes=runs.candidate.changes,
        scores=runs.scores,
        mean=runs.mean,
        sd=runs.sd,
        failed=runs.failed,
        gain=None if evidence is None else evidence.gain,
        ci95=None if evidence is None else evidence.ci95,
        p_value=judged.p_value,
        test=None if evidence is None else evidence.test,
        verdict=judged.verdict,
        search_score=runs.candidate.search_score,
        seconds=runs.seconds,
    )


def _with_verdicts(
    answer: AdoptAnswer, request: AdoptRequest, incumbent: CandidateRuns, judged: Sequence[Judged]
) -> AdoptAnswer:
    spreadless = any(each.evidence is not None and each.evidence.spreadless for each in judged)
    runs = (incumbent, *(each.runs for each in judged))
    winner = next((each for each in judged if each.runs.label == answer.winner), None)
    beaten = () if winner is None else told_apart(winner, judged, answer.level, answer.minimum_gain)
    verdicts = adoption_verdicts(answer, request, runs, spreadless=spreadless, told_apart=beaten)
    return msgspec.structs.replace(answer, verdicts=verdicts)
