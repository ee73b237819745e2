"""What to do with each nuisance next: widen its range, narrow it, fix it at a value or keep it, each with a reason."""

from collections.abc import Iterable, Sequence

from traindyno.analysis.rounds.arms import runs_by_arm
from traindyno.analysis.rounds.best_regions import Region, best_region
from traindyno.analysis.rounds.boundary import Boundary, judge_boundaries
from traindyno.analysis.rounds.words import listed
from traindyno.core.answers.rounds import BestOfK, Importance, RangeProposal
from traindyno.core.round_fields import automatic_caveat, rule_of
from traindyno.core.round_space import incumbent_of, is_within
from traindyno.core.rounds import Parameter, Round, RoundTrial, Value

TRIALS = "trials"
"""Stands for the budget where more of it is proposed."""
STABLE = 0.8
"""A parameter can be fixed if it is unimportant, and was so in four of five resamples."""
NARROW_ENOUGH = 0.7
"""The part of a range that must be left at most for narrowing it to be worth anything."""


def propose_ranges(
    round_: Round, trials: Sequence[RoundTrial], importance: Sequence[Importance], curves: Sequence[BestOfK]
) -> tuple[RangeProposal, ...]:
    """One proposal for each nuisance, and one for the budget if more of it would help."""
    runs = [each for of_arm in runs_by_arm(round_, trials).values() for each in of_arm]
    if not any(each.feasible for each in runs):
        return ()
    boundaries = judge_boundaries(round_, trials)
    return (
        *(
            _propose(
                round_,
                parameter,
                [each for each in boundaries if each.parameter == parameter.name],
                [each for each in importance if each.parameter == parameter.name],
                best_region(round_, parameter, runs),
            )
            for parameter in round_.searched
        ),
        *_more_trials(round_, curves),
    )


def _propose(
    round_: Round,
    parameter: Parameter,
    boundaries: Sequence[Boundary],
    importance: Sequence[Importance],
    region: Region | None,
) -> RangeProposal:
    return (
        _widen(parameter, boundaries)
        or _fix(round_, parameter, importance, region)
        or _narrow(parameter, boundaries, importance, region)
        or _keep(parameter, boundaries, importance)
    )


def _widen(parameter: Parameter, boundaries: Sequence[Boundary]) -> RangeProposal | None:
    edges = [each for each in boundaries if each.verdict == "edge" and each.widened is not None]
    if not edges or parameter.range is None:
        return None
    low = min((each.widened for each in edges if each.widened is not None and not each.above), default=None)
    high = max((each.widened for each in edges if each.widened is not None and each.above), default=None)
    sides = listed(side for side, end in (("low", low), ("high", high)) if end is not None)
    return RangeProposal(
        parameter=parameter.name,
        kind="widen",
        reason=f"the best values lie at the {sides} end of the range{_where(each.arm for each in edges)}, or beyond it",
        low=parameter.range.low if low is None else low,
        high=parameter.range.high if high is None else high,
    )


def _fix(
    round_: Round, parameter: Parameter, importance: Sequence[Importance], region: Region | None
) -> RangeProposal | None:
    is_idle = importance and all(each.is_important is False and each.stable >= STABLE for each in importance)
    if not is_idle or region is None or rule_of(parameter.field).group == "optimiser choice":
        return None
    if parameter.field == "learning_rate":
        return _plain_keep(parameter, "it explains little here, but moves with nearly every other change")
    value, why = _settled(round_, parameter, region)
    most = max(each.ci95[1] for each in importance)
    return RangeProposal(
        parameter=parameter.name,
        kind="fix",
        reason=f"it explains no more than chance would (at most {most:.0%} of what varies), so {why}; "
        f"{automatic_caveat(parameter.field, value)}".replace("%", " %"),
        value=value,
    )


def _settled(round_: Round, parameter: Parameter, region: Region) -> tuple[Value, str]:
    """The value to fix at: nothing at all, else what is there already, else the middle of the best third."""
    within = parameter.range
    if within is not None and within.low == 0 and rule_of(parameter.field).group == "regularisation":
        return (0 if within.integer else 0.0), "the simplest value will do"
    own = incumbent_of(round_).get(parameter.field)
    if own is not None and is_within(parameter, own):
        return own, "the incumbent's value will do"
    return region.centre, "the middle of the best third will do"


def _narrow(
    parameter: Parameter, boundaries: Sequence[Boundary], importance: Sequence[Importance], region: Region | None
) -> RangeProposal | None:
    """Only what matters is narrowed: the best third of an irrelevant parameter lies where chance put it."""
    matters = any(each.is_important for each in importance)
    known = all(each.verdict in ("inside", "stability", "limit", "perhaps limit") for each in boundaries)
    if not matters or region is None or not known or region.share > NARROW_ENOUGH:
        return None
    return RangeProposal(
        parameter=parameter.name,
        kind="narrow",
        reason=f"the best third of the runs lies in {region.share:.0%} of the range, air around it included".replace(
            "%", " %"
        ),
        low=region.low,
        high=region.high,
        values=region.values,
    )


def _keep(parameter: Parameter, boundaries: Sequence[Boundary], importance: Sequence[Importance]) -> RangeProposal:
    unstable = next((each for each in boundaries if each.verdict == "stability"), None)
    if unstable is not None:
        side = "above" if unstable.above else "below"
        return _plain_keep(parameter, f"its best values border on those where runs fail, {side} {unstable.border:.3g}")
    if any(each.verdict == "unseen" for each in boundaries):
        return _plain_keep(parameter, "a part of its range has no run yet")
    if any(each.is_important for each in importance):
        return _plain_keep(parameter, "it matters, and good values lie in most of the range")
    if importance and all(each.is_important is False for each in importance):
        return _plain_keep(parameter, "it looks unimportant, but fewer of the runs would have shown otherwise")
    return _plain_keep(parameter, "the runs do not tell whether it matters")


def _plain_keep(parameter: Parameter, reason: str) -> RangeProposal:
    return RangeProposal(parameter=parameter.name, kind="keep", reason=reason)


def _more_trials(round_: Round, curves: Sequence[BestOfK]) -> list[RangeProposal]:
    growing = [each.arm for each in curves if each.saturated is False]
    if not growing:
        return []
    return [
        RangeProposal(
            parameter=TRIALS,
            kind="add_trials",
            reason=f"the last doubling of draws still found better values{_where(growing)}",
            value=None if round_.budget.trials is None else 2 * round_.budget.trials,
        )
    ]


def _where(arms: Iterable[str]) -> str:
    named = [arm for arm in dict.fromkeys(arms) if arm]
    return f" ({listed(named)})" if named else ""
