"""The check that search ranges are wide enough: one for each searched range, over all arms that have it."""

from collections.abc import Sequence

from traindyno.analysis.rounds.boundary import Boundary, BoundaryVerdict, judge_boundaries
from traindyno.analysis.rounds.next_steps import RUN, add_trials, budget_edit, set_ends, set_trials
from traindyno.analysis.rounds.points import is_whole, trials_with
from traindyno.analysis.rounds.reach import draws_to_see, with_ends
from traindyno.analysis.rounds.words import arm_words, listed
from traindyno.core.answers.rounds import Check, CheckState
from traindyno.core.rounds import Parameter, Round, RoundTrial
from traindyno.core.units import count_of

NAME = "search space"
_STATES: dict[BoundaryVerdict, CheckState] = {
    "edge": "failed",
    "unseen": "failed",
    "perhaps limit": "warning",
    "unknown": "unknown",
    "stability": "passed",
    "limit": "passed",
    "inside": "passed",
}
"""The first that any arm has is the state of all."""


def boundary_checks(round: Round, trials: Sequence[RoundTrial]) -> tuple[Check, ...]:
    """Whether the optimum lies inside every range, in the order of the round's file."""
    boundaries = judge_boundaries(round, trials)
    return tuple(
        _check(round, parameter, of_parameter, trials)
        for parameter in round.searched
        if (of_parameter := [each for each in boundaries if each.parameter == parameter.name])
    )


def _check(round: Round, parameter: Parameter, boundaries: Sequence[Boundary], trials: Sequence[RoundTrial]) -> Check:
    told = [verdict for verdict in _STATES if any(each.verdict == verdict for each in boundaries)]
    sentences = [
        _sentence(round, parameter, alike)
        for verdict in told
        for above in (None, False, True)
        if (alike := [each for each in boundaries if (each.verdict, each.above) == (verdict, above)])
    ]
    return Check(
        name=NAME,
        state=_STATES[told[0]],
        text=" ".join(sentences),
        next_step=widening_step(round, parameter, boundaries, trials)
        or _more_step(round, parameter, boundaries, trials),
        subject=parameter.name,
    )


def _more_step(
    round: Round, parameter: Parameter, boundaries: Sequence[Boundary], trials: Sequence[RoundTrial]
) -> str | None:
    """The budget that lets runs go where none has been, or tells more; null where all is told."""
    unseen = [with_ends(parameter, *_ends(each, each.reached)) for each in boundaries if each.reached is not None]
    draws = max((draws_to_see(each.range, parameter) for each in unseen if each.range is not None), default=0)
    if draws:
        wanted = trials_with(round, trials, draws)
        return RUN if wanted == round.budget.trials else set_trials(round, wanted)
    if not any(each.verdict == "unknown" for each in boundaries):
        return None
    return add_trials(round) if is_whole(round, trials) else RUN


def _ends(boundary: Boundary, end: float) -> tuple[float | None, float | None]:
    return (None, end) if boundary.above else (end, None)


def _sentence(round: Round, parameter: Parameter, alike: Sequence[Boundary]) -> str:
    """One for all arms and branches of which the same is known."""
    assert parameter.range is not None
    first = alike[0]
    end = "high" if first.above else "low"
    number = parameter.range.high if first.above else parameter.range.low
    where = _where(round, alike)
    if first.verdict == "edge":
        return (
            f"Scores still rise towards the {end} end of {parameter.name}, {number:g}{where}: the search is too narrow."
        )
    if first.verdict == "unseen":
        last = (max if first.above else min)(each.reached for each in alike if each.reached is not None)
        return (
            f"Scores still rise towards {parameter.name} = {last:.3g}{where}: its range goes on to {number:g}, but no "
            "run lies there yet."
        )
    if first.verdict == "limit":
        return f"{parameter.name} is best at {number:g}{where}, and nothing lies beyond that."
    if first.verdict == "perhaps limit":
        return f"{parameter.name} is best at {number:g}{where}, its {end} end: only you know if anything lies beyond."
    if first.verdict == "stability":
        return (
            f"{parameter.name} is best at the edge of stability{where}: {first.failed_beyond} of {first.runs_beyond} "
            f"runs {'above' if first.above else 'below'} {first.border:.3g} gave no score. No need to widen."
        )
    if first.verdict == "inside":
        near = sorted({f"{each.near:.2g}" for each in alike if each.near is not None}, key=float)
        return f"The best {parameter.name} lies inside its range, near {listed(near)}{where}."
    runs = min(each.runs for each in alike)
    return (
        f"Whether the best {parameter.name} lies inside its range cannot be told from {count_of(runs, 'score')}"
        f"{where}: it matters too little against seeds and the other parameters, or there are too few runs."
    )


def widening_step(
    round: Round, parameter: Parameter, boundaries: Sequence[Boundary], trials: Sequence[RoundTrial]
) -> str | None:
    """The edits that make a range wide enough for all arms, and let runs go there; null where all lie inside."""
    if any(each.verdict == "edge" for each in boundaries):
        boundaries = [each for each in boundaries if each.verdict == "edge"]
    lows = [each.widened for each in boundaries if each.widened is not None and not each.above]
    highs = [each.widened for each in boundaries if each.widened is not None and each.above]
    if not (lows or highs):
        return None
    low, high = min(lows, default=None), max(highs, default=None)
    assert parameter.range is not None
    wanted = trials_with(round, trials, draws_to_see(parameter.range, with_ends(parameter, low, high)))
    step = set_ends(round, parameter, low, high, budget_edit(round, wanted))
    is_sure = any(each.verdict == "edge" for each in boundaries)
    return step if is_sure else f"If such values make sense: {step}"


def _where(round: Round, alike: Sequence[Boundary]) -> str:
    """The arms, or branches, of which a sentence is; nothing where there is only one."""
    named = [arm_words(round, each.arm) if each.arm else each.branch for each in alike if each.arm or each.branch]
    return f" ({listed(dict.fromkeys(named))})" if named else ""
