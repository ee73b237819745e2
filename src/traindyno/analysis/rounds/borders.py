"""The border of a parameter beyond which runs fail, as a learning rate has one beyond which they diverge."""

from collections.abc import Iterator, Sequence

import msgspec

from traindyno.core.base import Record
from traindyno.core.round_space import unit_of
from traindyno.core.rounds import Parameter, RoundTrial

_FEWEST_BEYOND = 2
_SHARE_BEYOND = 2 / 3
_CHANCE = 0.01


class Border(Record, frozen=True):
    """A place of a range, from 0 to 1, above or below which most runs have failed. `chance` would hardly do that."""

    place: float
    above: bool
    failed: int
    runs: int
    chance: float


def border_of(parameter: Parameter, trials: Sequence[RoundTrial], others: Sequence[RoundTrial] = ()) -> Border | None:
    """The border of one parameter among the runs that have it. A run that failed for want of a file says nothing.

    Where they are too few, the runs of `others` help, if what they say holds for these.
    """
    feasible, infeasible = _places(parameter, trials)
    own = find_border(feasible, infeasible)
    if own is not None or not others:
        return own
    more_feasible, more_infeasible = _places(parameter, others)
    border = find_border([*feasible, *more_feasible], [*infeasible, *more_infeasible])
    return None if border is None else _among(border, feasible, infeasible)


def fails_at_end(parameter: Parameter, trials: Sequence[RoundTrial], above: bool, width: float) -> bool:
    """Whether half of the runs in the outermost part of a range fail, or more: too few for a border, but a doubt."""
    failed, spared = (
        sum((place > 1 - width) if above else (place < width) for place in places)
        for places in reversed(_places(parameter, trials))
    )
    return failed > 0 and failed >= spared


def _places(parameter: Parameter, trials: Sequence[RoundTrial]) -> tuple[list[float], list[float]]:
    """Where the runs that gave a score lie, and where the others do."""
    told = [each for each in trials if parameter.name in each.draw.values and each.ending != "failed"]
    places = [(unit_of(parameter, each.draw.values[parameter.name]), each.feasible) for each in told]
    return [place for place, ok in places if ok], [place for place, ok in places if not ok]


def _among(border: Border, feasible: Sequence[float], infeasible: Sequence[float]) -> Border | None:
    """A border as far as these runs know it; null if they do not fail there as well."""
    failed, spared = (sum((place > border.place) == border.above for place in each) for each in (infeasible, feasible))
    if failed == 0 or failed < _SHARE_BEYOND * (failed + spared):
        return None
    return msgspec.structs.replace(border, failed=failed, runs=failed + spared)


def find_border(feasible: Sequence[float], infeasible: Sequence[float]) -> Border | None:
    """The cut that parts the runs that failed from the others best, if chance alone would hardly part them so.

    Beyond it two or more have failed, and at least two thirds of the runs there.
    """
    border = min(_cuts(feasible, infeasible), key=lambda each: (each.chance, each.place), default=None)
    return border if border is not None and border.chance < _CHANCE else None


def _cuts(feasible: Sequence[float], infeasible: Sequence[float]) -> Iterator[Border]:
    from scipy.stats import hypergeom

    ordered = sorted([(place, False) for place in feasible] + [(place, True) for place in infeasible])
    for cut in range(1, len(ordered)):
        left, right = ordered[cut - 1][0], ordered[cut][0]
        for above, beyond in ((True, ordered[cut:]), (False, ordered[:cut])):
            failed = sum(has_failed for _, has_failed in beyond)
            if left < right and failed >= max(_FEWEST_BEYOND, _SHARE_BEYOND * len(beyond)):
                chance = float(hypergeom.sf(failed - 1, len(ordered), len(infeasible), len(beyond)))
                yield Border(place=(left + right) / 2, above=above, failed=failed, runs=len(beyond), chance=chance)
