"""Does the optimum of every searched range lie inside it? If not, the search was too narrow to conclude from.

Surfaces that the runs make likely are asked where their tops lie. Most tops near one end, and nearly all surfaces
rising towards it, mean that the optimum lies there or beyond. If runs fail beyond, it is the edge of stability instead.
A range counts as far as runs reach into it: what was added since is judged when it has some.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from traindyno.analysis.rounds.borders import Border, border_of, fails_at_end
from traindyno.analysis.rounds.reach import last_seen, reached
from traindyno.analysis.rounds.surfaces import likely_surfaces, rises, tops
from traindyno.analysis.rounds.trials import sign, tuning
from traindyno.analysis.rounds.widening import may_be_limit, number_at, widened_end
from traindyno.core.base import Record
from traindyno.core.round_space import arms_of, branches_of, contains, dimensions_of, same, unit_of
from traindyno.core.rounds import Parameter, Round, RoundTrial

BoundaryVerdict = Literal["inside", "edge", "unseen", "stability", "limit", "perhaps limit", "unknown"]
EDGE_WIDTH = 0.15
"""The part of a range, at either end of what can be trained, where an optimum counts as being at the edge."""
EDGE_SHARE = 0.6
INSIDE_SHARE = 0.8
RISING_SHARE = 0.97
"""The shares of likely surfaces that a verdict takes."""
FEWEST_RUNS = 6
_BEYOND = 3.0
_ROUNDING = 1e-9


class Boundary(Record, frozen=True):
    """Where the optimum of one range lies, in one branch of an arm. `above` says at which end, where it is at one.

    `limit`: it lies at an end beyond which there is nothing; `perhaps limit`: only the user can tell. `near` is where
    it seems to be, `widened` the end that the range should have, `border` where runs begin to fail. `unseen`: scores
    rise towards `reached`, and the range goes on, but no run lies there. Null where there is no such thing.
    """

    arm: str
    branch: str
    parameter: str
    verdict: BoundaryVerdict
    runs: int
    above: bool | None = None
    near: float | None = None
    widened: float | None = None
    border: float | None = None
    reached: float | None = None
    failed_beyond: int = 0
    runs_beyond: int = 0


def judge_boundaries(round: Round, trials: Sequence[RoundTrial]) -> tuple[Boundary, ...]:
    """A verdict for every searched range in every branch of every arm, in that order."""
    searched = tuning(trials)
    return tuple(
        boundary
        for arm in arms_of(round)
        for branch in branches_of(round, arm)
        for boundary in _of_branch(round, arm, branch, [each for each in searched if each.draw.branch == branch])
    )


def _of_branch(round: Round, arm: str, branch: str, of_all_arms: Sequence[RoundTrial]) -> Iterator[Boundary]:
    of_arm = [each for each in of_all_arms if each.draw.arm == arm]
    trials = [each for each in of_arm if contains(round, arm, branch, each.draw.values)]
    others = [each for each in of_all_arms if each.draw.arm != arm]
    dimensions = dimensions_of(round, arm, branch)
    whole = [each for each in dimensions if each.range is not None and each.range.low < each.range.high]
    ranged = [reached(each, trials) for each in whole]
    chosen = [each for each in dimensions if each.range is None]
    scored = [trial for trial in trials if trial.feasible]
    turned = [sign(round.metric) * trial.score for trial in scored if trial.score is not None]
    is_enough = bool(ranged) and len(scored) >= FEWEST_RUNS and _differ(turned)
    told = _along_each(ranged, chosen, scored, turned) if is_enough else [None] * len(ranged)
    for asked, parameter, along in zip(whole, ranged, told, strict=True):
        nothing = Boundary(arm=arm, branch=branch, parameter=parameter.name, verdict="unknown", runs=len(scored))
        if along is None:
            yield nothing
            continue
        found = _judge(nothing, parameter, along, border_of(parameter, trials, others))
        is_doubtful = found.verdict == "edge" and fails_at_end(parameter, trials, bool(found.above), EDGE_WIDTH)
        yield nothing if is_doubtful else _as_far_as_seen(found, asked, parameter)


def _as_far_as_seen(found: Boundary, asked: Parameter, seen: Parameter) -> Boundary:
    """Where runs end before the range does, there is nothing to widen yet."""
    last = None if found.above is None or found.verdict == "stability" else last_seen(asked, seen, found.above)
    return found if last is None else msgspec.structs.replace(found, verdict="unseen", widened=None, reached=last)


def _differ(scores: Sequence[float]) -> bool:
    """Whether scores differ by more than the rounding of numbers."""
    return max(scores) - min(scores) > _ROUNDING * max(map(abs, scores))


class _Along(NamedTuple):
    """What surfaces say along one range: their tops within it and beyond, from 0 to 1, and the share that rises."""

    within: Any
    beyond: Any
    rising: float


def _along_each(
    ranged: Sequence[Parameter], chosen: Sequence[Parameter], scored: Sequence[RoundTrial], turned: Sequence[float]
) -> list[_Along | None]:
    import numpy

    values = [trial.draw.values for trial in scored]
    units = [[unit_of(each, given[each.name]) for each in ranged] for given in values]
    choices = [[same(given[each.name], value) for each in chosen for value in each.values] for given in values]
    places, scores = 2 * numpy.array(units) - 1, numpy.array(turned)
    surfaces = likely_surfaces(places, numpy.array(choices, dtype=float), scores)
    start = places[scores.argmax()]
    within, beyond = tops(surfaces, start), tops(surfaces, start, _BEYOND)
    rising = (rises(surfaces, within) > 0).mean(axis=0)
    return [
        _Along(within=(within[:, side] + 1) / 2, beyond=(beyond[:, side] + 1) / 2, rising=float(rising[side]))
        for side in range(len(ranged))
    ]


def _judge(nothing: Boundary, parameter: Parameter, found: _Along, border: Border | None) -> Boundary:
    import numpy

    floor = border.place if border is not None and not border.above else 0.0
    ceiling = border.place if border is not None and border.above else 1.0
    low, high = (found.within < floor + EDGE_WIDTH).mean(), (found.within > ceiling - EDGE_WIDTH).mean()
    near = number_at(parameter, float(numpy.clip(numpy.median(found.within), floor, ceiling)))
    told = msgspec.structs.replace(nothing, near=near)
    for above, share, rising in ((False, low, 1 - found.rising), (True, high, found.rising)):
        if share >= EDGE_SHARE and rising >= RISING_SHARE:
            return msgspec.structs.replace(told, **_at_edge(parameter, above, found, border))
    if 1 - low - high >= INSIDE_SHARE:
        return msgspec.structs.replace(told, verdict="inside")
    return told


def _at_edge(parameter: Parameter, above: bool, found: _Along, border: Border | None) -> Mapping[str, Any]:
    import numpy

    if border is not None and border.above == above:
        return {
            "verdict": "stability",
            "above": above,
            "border": number_at(parameter, border.place),
            "failed_beyond": border.failed,
            "runs_beyond": border.runs,
        }
    widened = widened_end(parameter, above, float(numpy.median(found.beyond)))
    end = "perhaps limit" if may_be_limit(parameter, above) else "edge"
    return {"verdict": "limit" if widened is None else end, "above": above, "widened": widened}
