"""What the target does by itself: each of its values against the incumbent's own one, both tuned, on fresh seeds.

The incumbent may never have been tuned for what it has. So its row mixes two things, the target and the tuning; here
the tuning is on both sides.
"""

from collections.abc import Sequence

from traindyno.analysis.rounds.adoption_choice import Judged, judge_candidates
from traindyno.analysis.rounds.adoption_runs import CandidateRuns
from traindyno.analysis.rounds.time_ratios import TimeRatio, ratio_ends, time_ratios
from traindyno.analysis.rounds.words import change_words, metric_of
from traindyno.core.answers.rounds import AdoptAnswer, TargetEffect
from traindyno.core.requests import AdoptRequest


def target_effects(request: AdoptRequest, judged: Sequence[Judged], level: float) -> tuple[TargetEffect, ...]:
    """One for each other value of the target; none where the incumbent's own value was not tuned again."""
    target = request.round.target
    if target is None or not all(each.verdict for each in judged):
        return ()
    tuned_again = [each.runs for each in judged if target.field not in each.runs.candidate.changes]
    if len(tuned_again) != 1:
        return ()
    (own,) = tuned_again
    others = [each.runs for each in judged if each.runs is not own]
    beside = judge_candidates(own, others, level, request.round.minimum_gain)
    times = time_ratios(own.seconds_alone, [each.runs.seconds_alone for each in beside])
    return tuple(
        effect
        for each, ratio in zip(beside, times, strict=True)
        if each.runs.whole and own.whole and (effect := _effect(own, each, ratio)) is not None
    )


def _effect(own: CandidateRuns, beside: Judged, time: TimeRatio | None) -> TargetEffect | None:
    """The time is told only where chance does not explain it."""
    if beside.evidence is None:
        return None
    told = time if time is not None and time.shown else None
    return TargetEffect(
        label=beside.runs.label,
        against=own.label,
        gain=beside.evidence.gain,
        ci95=beside.evidence.ci95,
        time_ratio=None if told is None else told.value,
        time_ratio_ci95=None if told is None else told.ci95,
    )


def effect_sentences(answer: AdoptAnswer) -> list[str]:
    metric = metric_of(answer)
    return [
        f"{each.label} against {each.against}, both tuned: {change_words(each.gain, each.ci95, metric)}{_times(each)}."
        for each in answer.effects
    ]


def _times(effect: TargetEffect) -> str:
    if effect.time_ratio is None or effect.time_ratio_ci95 is None:
        return ""
    return f", in {effect.time_ratio:.3g} times the time per run {ratio_ends(effect.time_ratio_ci95)}"
