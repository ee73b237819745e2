"""How often the boundary rule is right: simulated rounds whose optimum lies outside a range, in its middle, or nowhere.

One round is one arm of 12 to 40 Halton points in 1 to 4 ranges, all drawn evenly. The response falls off from its
optimum as a square, with interactions, and each range matters about as much as the others; seeds spread scores by 5 to
30 % of what the ranges do. The first range is the one that is judged: its optimum lies 0.1 to 0.5 of its width beyond
an end, or within its middle half, or the range does not matter at all. In a fourth case most runs fail beyond a place
of the range, and the optimum would lie there: then there is nothing to widen.
"""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy
from scipy.stats import qmc

from traindyno.analysis.rounds.boundary import judge_boundaries
from traindyno.core.base import Record
from traindyno.core.round_space import value_at
from traindyno.core.rounds import ALONE, Draw, Goal, Parameter, Range, Round, RoundBudget, RoundJob, RoundTrial

CASES = ("outside", "centred", "irrelevant", "unstable")
DIMENSIONS = (1, 2, 3, 4)
POINTS = (12, 40)
NOISE = (0.05, 0.30)
FEW_PER_DIMENSION = 6
"""Points for each dimension below which the rule may have to say that it cannot tell."""
FAILING_BEYOND = 0.9
SHAPES: dict[str, Callable[[Any], Any]] = {
    "quadratic": lambda fall: -fall,
    "bell": lambda fall: numpy.exp(-fall),
}


class Simulated(Record, frozen=True):
    """One simulated round and what the rule said of its first range."""

    case: str
    dimensions: int
    points: int
    noise: float
    above: bool
    verdict: str
    said_above: bool | None

    @property
    def detected(self) -> bool:
        return self.verdict == "edge" and self.said_above == self.above


def boundary_rates(runs: int, seed: int, shape: str = "quadratic") -> dict[str, Any]:
    """The rates over `runs` rounds of each case: in all, and by what makes them easier or harder."""
    source = numpy.random.default_rng(seed)
    found = [simulate(source, case, shape) for _ in range(runs) for case in CASES]
    return {
        "rounds": len(found),
        "shape": shape,
        "all": rates(found),
        "enough_points": rates([each for each in found if each.points >= FEW_PER_DIMENSION * each.dimensions]),
        "by_dimensions": {
            str(sides): rates([each for each in found if each.dimensions == sides]) for sides in DIMENSIONS
        },
        "by_points": _binned(found, lambda each: each.points, (12, 20, 30, 41)),
        "by_noise": _binned(found, lambda each: each.noise, (0.05, 0.1, 0.2, 0.301)),
        "by_points_per_dimension": _binned(found, lambda each: each.points / each.dimensions, (3, 6, 10, 41)),
    }


def rates(found: Iterable[Simulated]) -> dict[str, float | int]:
    """Shares of rounds: `missed` are optima outside that the rule called inside; `untold` are those it left open."""
    by_case = {case: [each for each in found if each.case == case] for case in CASES}
    outside, centred, irrelevant, unstable = (by_case[case] for case in CASES)
    told = [each for each in outside if each.verdict != "unknown"]
    return {
        "rounds": sum(map(len, by_case.values())),
        "detected": _share(each.detected for each in outside),
        "detected_of_told": _share(each.detected for each in told),
        "missed": _share(each.verdict == "inside" for each in outside),
        "untold_outside": _share(each.verdict == "unknown" for each in outside),
        "false_alarms_centred": _share(each.verdict == "edge" for each in centred),
        "called_inside_centred": _share(each.verdict == "inside" for each in centred),
        "false_alarms_irrelevant": _share(each.verdict == "edge" for each in irrelevant),
        "told_to_widen_unstable": _share(each.verdict == "edge" for each in unstable),
        "called_stability_unstable": _share(each.verdict == "stability" for each in unstable),
    }


def simulate(source: Any, case: str, shape: str) -> Simulated:
    # A range alone that does not matter would leave nothing but noise.
    sides = int(source.choice(DIMENSIONS[1:] if case == "irrelevant" else DIMENSIONS))
    points, noise = int(source.integers(POINTS[0], POINTS[1] + 1)), float(source.uniform(*NOISE))
    above = bool(source.random() < 0.5)
    optimum = source.uniform(0.25, 0.75, sides)
    if case == "outside":
        distance = source.uniform(0.1, 0.5)
        optimum[0] = 1 + distance if above else -distance
    border = float(source.uniform(0.6, 0.9))
    if case == "unstable":
        optimum[0] = border + source.uniform(0.0, 0.4)
    strength = source.uniform(0.5, 1.5, sides)
    strength[0] *= case != "irrelevant"
    crossed = numpy.triu(source.uniform(-1, 1, (sides, sides)) / max(1, sides - 1), 1)
    spread = numpy.sqrt(strength / ((source.random((4000, sides)) - optimum) ** 2).std(axis=0))

    def response(places: Any) -> Any:
        apart = (places - optimum) * spread
        fall = (apart**2).sum(axis=1) - numpy.einsum("ni,ij,nj->n", apart, crossed, apart)
        return SHAPES[shape](fall)

    places = qmc.Halton(sides, scramble=True, rng=source).random(points)
    errors = noise * response(source.random((4000, sides))).std() * source.standard_normal(points)
    fails = (case == "unstable") & (places[:, 0] > border) & (source.random(points) < FAILING_BEYOND)
    said = judge_boundaries(*_round(places, numpy.where(fails, numpy.nan, response(places) + errors)))[0]
    return Simulated(case, sides, points, noise, above, said.verdict, said.above)


def _round(places: Any, scores: Any) -> tuple[Round, tuple[RoundTrial, ...]]:
    within = Range(low=1e-4, high=1.0, scale="log")
    parameters = tuple(Parameter(name=f"x{side}", role="nuisance", range=within) for side in range(places.shape[1]))
    round = Round(
        name="simulated",
        goal=Goal(kind="maximise"),
        job=RoundJob(function="job.py:train"),
        parameters=parameters,
        budget=RoundBudget(trials=len(scores)),
    )
    draws = [
        Draw(
            phase="search",
            arm=ALONE,
            index=index,
            values={each.name: value_at(each, float(unit)) for each, unit in zip(parameters, place, strict=True)},
        )
        for index, place in enumerate(places)
    ]
    return round, tuple(
        RoundTrial(draw=draw, ending="diverged", score=None)
        if numpy.isnan(score)
        else RoundTrial(draw=draw, ending="ok", score=float(score))
        for draw, score in zip(draws, scores, strict=True)
    )


def _binned(found: list[Simulated], read: Callable[[Simulated], float], edges: tuple[float, ...]) -> dict[str, Any]:
    return {
        f"{low:g} to {high:g}": rates([each for each in found if low <= read(each) < high])
        for low, high in pairwise(edges)
    }


def _share(flags: Iterable[bool]) -> float:
    listed = list(flags)
    return sum(listed) / len(listed) if listed else math.nan
