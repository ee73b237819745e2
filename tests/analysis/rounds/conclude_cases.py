"""Rounds and runs by hand, for tests of what is concluded from them."""

from collections.abc import Callable, Mapping, Sequence

import numpy
from scipy.stats import qmc

from traindyno.core.round_space import dimensions_of, value_at
from traindyno.core.rounds import (
    ALONE,
    Draw,
    Ending,
    Goal,
    Parameter,
    Phase,
    Range,
    Round,
    RoundBudget,
    RoundJob,
    RoundMetric,
    RoundTrial,
    Value,
)

RATE = Parameter(name="learning_rate", role="nuisance", range=Range(low=0.001, high=1.0, scale="log"))
MOMENTUM = Parameter(name="momentum", role="nuisance", range=Range(low=0.0, high=0.95))
DECAY = Parameter(name="weight_decay", role="nuisance", range=Range(low=1e-6, high=1e-2, scale="log"))
DEPTH = Parameter(name="model", role="target", values=("mlp:64", "mlp:64x64"))
ACCURACY = RoundMetric()
LOSS = RoundMetric(name="loss", higher_is_better=False)


def a_round(
    *parameters: Parameter,
    metric: RoundMetric = ACCURACY,
    goal: Goal = Goal(kind="helps"),  # noqa: B008 - frozen
    incumbent: Mapping[str, Value] = {"model": "mlp:64", "learning_rate": 0.1},
    trials: int = 16,
    minimum_gain: float = 0.0,
) -> Round:
    return Round(
        name="depth",
        campaign="digits",
        goal=goal,
        job=RoundJob(model="mlp:64", data="digits:", values={"epochs": 10, "optimizer": "sgd"}),
        parameters=parameters,
        budget=RoundBudget(trials=trials),
        metric=metric,
        incumbent=dict(incumbent),
        minimum_gain=minimum_gain,
    )


def a_run(
    score: float | None,
    values: Mapping[str, Value] | None = None,
    *,
    index: int = 0,
    arm: str = ALONE,
    branch: str = ALONE,
    phase: Phase = "search",
    ending: Ending = "ok",
    examples_per_second: float | None = None,
) -> RoundTrial:
    draw = Draw(phase=phase, arm=arm, branch=branch, index=index, values=dict(values or {}))
    return RoundTrial(
        draw=draw, ending=ending, score=score, seconds=1.0, examples_per_second=examples_per_second, classes=10
    )


def scored(scores: Sequence[float | None], arm: str = ALONE) -> list[RoundTrial]:
    """Runs that differ in their scores alone; those without one diverged."""
    values: dict[str, Value] = {"learning_rate": 0.1, **({} if arm == ALONE else {"model": arm})}
    return [
        a_run(score, values, index=index, arm=arm, ending="ok" if score is not None else "diverged")
        for index, score in enumerate(scores)
    ]


def searched(
    round_: Round,
    count: int,
    score: Callable[[Mapping[str, float]], float],
    *,
    arm: str = ALONE,
    branch: str = ALONE,
    settled: Mapping[str, Value] | None = None,
    noise: float = 0.01,
    seed: int = 0,
) -> list[RoundTrial]:
    """A plain search of one arm; `score` is told where each parameter lies, from 0 to 1."""
    random = numpy.random.default_rng(seed)
    dimensions = dimensions_of(round_, arm, branch)
    points = qmc.Halton(len(dimensions), rng=random).random(count)
    runs = []
    for index, point in enumerate(points.tolist()):
        places = {each.name: place for each, place in zip(dimensions, point, strict=True)}
        values = {each.name: value_at(each, place) for each, place in zip(dimensions, point, strict=True)}
        runs.append(
            a_run(
                score(places) + float(random.normal(0, noise)),
                {**(settled or {}), **values},
                index=index,
                arm=arm,
                branch=branch,
            )
        )
    return runs
