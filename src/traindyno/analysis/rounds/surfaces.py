"""Quadratic surfaces that the runs of one search make likely: where the top of each lies says where the optimum may be.

Bayesian ridge regression (MacKay 1992, as scikit-learn has it) gives the distribution of a surface's coefficients. It
holds with more coefficients than runs too: then little is known, and the tops lie far apart.
"""

from itertools import combinations
from typing import Any, NamedTuple

DRAWS = 500
WORSE_HALF_WEIGHT = 0.25
"""Far from its top no response is quadratic, so what lies there counts less."""
_INTERACTION_SCALE = 0.5
_NOISE_FLOOR = 0.05
"""Where there are more coefficients than runs, a surface could pass through all scores as if none were noisy."""
_COLLAPSE = 4.0
"""Times the distance from the best score to the median, below which scores are all alike."""
_SWEEPS = 12
_ROUNDING = 1e-9
"""Of scores, when choices explain all of them."""
_SEED = 0


class Surfaces(NamedTuple):
    """Likely surfaces over places from -1 to 1: arrays with one row each, `twists` with one square matrix each."""

    slopes: Any
    curvatures: Any
    twists: Any


def likely_surfaces(places: Any, choices: Any, scores: Any) -> Surfaces:
    """Surfaces over `places`, from -1 to 1, one column for each range. More is better in `scores`.

    `choices` are columns of zeros and ones. They lift or lower a surface and do not move its top, so what they explain
    is taken away first.
    """
    import numpy
    from sklearn.linear_model import BayesianRidge

    count, sides = places.shape
    pairs = list(combinations(range(sides), 2))
    crossed = [places[:, one] * places[:, two] * _INTERACTION_SCALE for one, two in pairs]
    columns = _unexplained(choices, numpy.column_stack([places, places**2, *crossed]))
    left = _without_collapse(_unexplained(choices, scores))
    scale = left.std() if left.std() > _ROUNDING * scores.std() else numpy.inf
    ranks = numpy.argsort(numpy.argsort(left, kind="stable"), kind="stable")
    weights = numpy.where(ranks >= count // 2, 1.0, WORSE_HALF_WEIGHT)
    model = BayesianRidge(alpha_1=1.0, alpha_2=_NOISE_FLOOR, lambda_1=1.0, lambda_2=1.0)
    model.fit(columns, left / scale, sample_weight=weights)
    drawn = _draws(model.coef_, model.sigma_, freedom=count)
    twists = numpy.zeros((DRAWS, sides, sides))
    for (one, two), column in zip(pairs, drawn[:, 2 * sides :].T, strict=True):
        twists[:, one, two] = twists[:, two, one] = column * _INTERACTION_SCALE
    return Surfaces(slopes=drawn[:, :sides], curvatures=drawn[:, sides : 2 * sides], twists=twists)


def _without_collapse(scores: Any) -> Any:
    """Scores, those raised that lie far below all good ones, as after a collapse: how far says nothing of the top."""
    import numpy

    best = scores.max()
    return numpy.maximum(scores, best - _COLLAPSE * (best - numpy.median(scores)))


def _unexplained(choices: Any, columns: Any) -> Any:
    """What is left of columns when the mean of each choice is taken away."""
    import numpy

    known = numpy.column_stack([numpy.ones(len(columns)), choices])
    return columns - known @ numpy.linalg.lstsq(known, columns, rcond=None)[0]


def _draws(mean: Any, covariance: Any, freedom: int) -> Any:
    """Coefficients as likely as the regression has them; their spread is itself known from so many runs only."""
    import numpy

    source = numpy.random.default_rng(_SEED)
    apart = source.multivariate_normal(numpy.zeros(len(mean)), covariance, size=DRAWS, method="eigh")
    stretch = numpy.sqrt(freedom / source.chisquare(freedom, size=DRAWS))
    return mean + stretch[:, None] * apart


def tops(surfaces: Surfaces, start: Any, reach: float = 1.0) -> Any:
    """Where each surface is highest within `reach` of the middle, found from `start` by one coordinate at a time."""
    import numpy

    found = numpy.tile(numpy.clip(start, -reach, reach), (len(surfaces.slopes), 1))
    for _ in range(_SWEEPS):
        for side in range(found.shape[1]):
            slope = surfaces.slopes[:, side] + (surfaces.twists[:, side] * found).sum(axis=1)
            curvature = surfaces.curvatures[:, side]
            bent = numpy.where(curvature < 0, curvature, -1.0)
            stationary = numpy.clip(-slope / (2 * bent), -reach, reach)
            found[:, side] = numpy.where(curvature < 0, stationary, numpy.where(slope > 0, reach, -reach))
    return found


def rises(surfaces: Surfaces, found: Any) -> Any:
    """How much higher each surface is at the high end of each range than at its low end, all else as at its top."""
    import numpy

    return 2 * (surfaces.slopes + numpy.einsum("sij,sj->si", surfaces.twists, found))
