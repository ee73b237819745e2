"""Is the expected best of k draws unbiased, and does its interval hold? Searches of 20 draws; part of `rounds.py`.

Beside it stands the usual way, the mean of the best over resamples with replacement, which is biased downwards.
"""

import math
from typing import Any

import numpy
from scipy import integrate, stats

from traindyno.analysis.rounds.best_of_k import best_of_k, expected_best
from traindyno.core.rounds import (
    ALONE,
    Draw,
    Goal,
    Parameter,
    Range,
    Round,
    RoundBudget,
    RoundJob,
    RoundMetric,
    RoundTrial,
)

DRAWS = 20
SIZES = (1, 5, 10, 20)
SHAPES = {"normal": stats.norm(), "skewed": stats.beta(8, 2, scale=10)}
Rows = list[dict[str, Any]]
Array = numpy.ndarray[Any, Any]


def best_of_k_rows(rounds: int, seed: int) -> Rows:
    """For each k: the truth, the mean of the estimates, and how often the interval holds the truth."""
    rows: Rows = []
    for name, shape in SHAPES.items():
        scores = shape.rvs(size=(rounds, DRAWS), random_state=numpy.random.default_rng(seed))
        found = numpy.array([expected_best(_ROUND, _trials(row)).expected for row in scores])
        curves = [best_of_k(_ROUND, ALONE, _trials(row), None) for row in scores]
        for k in SIZES:
            truth = expected_maximum(shape, k)
            estimates, spread = found[:, k - 1], float(shape.std())
            error = float(estimates.std(ddof=1)) / math.sqrt(rounds)
            rows.append(
                {
                    "scores": name,
                    "k": k,
                    "bias_in_sd": (float(estimates.mean()) - truth) / spread,
                    "plus_or_minus": 2 * error / spread,
                    "usual_way_bias_in_sd": (float(resampled(scores, k).mean()) - truth) / spread,
                    "interval_holds": sum(each.low[k - 1] <= truth <= each.high[k - 1] for each in curves) / rounds,
                    "rounds": rounds,
                }
            )
    return rows


def expected_maximum(shape: Any, k: int) -> float:
    """The true mean of the best of k, from the distribution itself."""
    mean, _ = integrate.quad(lambda share: shape.ppf(share) * k * share ** (k - 1), 0, 1, limit=200)
    return float(mean)


def resampled(scores: Array, k: int) -> Array:
    """The mean of the best of k over all resamples with replacement."""
    ranks = numpy.arange(1, scores.shape[1] + 1) / scores.shape[1]
    weights = ranks**k - (ranks - 1 / scores.shape[1]) ** k
    return numpy.asarray(numpy.sort(scores, axis=1) @ weights)


_ROUND = Round(
    name="simulated",
    goal=Goal(kind="maximise"),
    job=RoundJob(function="job.py:train"),
    parameters=(Parameter(name="x", role="nuisance", range=Range(low=0.0, high=1.0)),),
    budget=RoundBudget(trials=DRAWS),
    metric=RoundMetric(name="score"),
)


def _trials(scores: Array) -> list[RoundTrial]:
    return [
        RoundTrial(draw=Draw(phase="search", arm=ALONE, index=index, values={}), ending="ok", score=float(score))
        for index, score in enumerate(scores)
    ]
