"""Shares of the variation of scores, by a sum of simple curves that a ridge holds back."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from traindyno.analysis.rounds.best_of_k import turned_scores
from traindyno.core.round_space import same, unit_of
from traindyno.core.rounds import Parameter, Round, RoundTrial

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

SHUFFLES = 199
RESAMPLES = 100
KEPT = 0.75
"""The part of the runs that a resample has."""
RIDGE = 5.0


class Design:
    """The fitted columns of all parameters, which group each belongs to, and which runs have which parameter."""

    def __init__(self, round_: Round, parameters: Sequence[Parameter], runs: Sequence[RoundTrial]) -> None:
        import numpy
        from scipy.stats import rankdata

        bases = [_basis(each, runs) for each in parameters]
        self.columns = numpy.hstack(bases)
        self.group = numpy.repeat(range(len(bases)), [each.shape[1] for each in bases])
        self.present = numpy.array([[each.name in run.draw.values for each in parameters] for run in runs])
        self.ranks = rankdata(turned_scores(round_, runs))

    def shares(self) -> "Array":
        shares: Array = _shares(self.columns[None], self.present[None], self.ranks[None], self.group)[0]
        return shares

    def shuffled(self, place: int, random: "numpy.random.Generator") -> "Array":
        """The shares that a parameter gets when its values are dealt anew among the runs that have it."""
        import numpy

        rows = numpy.flatnonzero(self.present[:, place])
        own = numpy.flatnonzero(self.group == place)
        dealt = rows[numpy.argsort(random.random((SHUFFLES, len(rows))), axis=1)]
        columns = numpy.repeat(self.columns[None], SHUFFLES, axis=0)
        columns[:, rows[:, None], own] = self.columns[dealt[:, :, None], own]
        many = (SHUFFLES, 1, 1)
        ranks = numpy.tile(self.ranks, (SHUFFLES, 1))
        return _shares(columns, numpy.tile(self.present, many), ranks, self.group)[:, place]

    def resampled(self, random: "numpy.random.Generator") -> "Array":
        """All shares, from three quarters of the runs at a time."""
        import numpy

        count = len(self.ranks)
        chosen = numpy.argsort(random.random((RESAMPLES, count)), axis=1)[:, : round(KEPT * count)]
        return _shares(self.columns[chosen], self.present[chosen], self.ranks[chosen], self.group)


def _basis(parameter: Parameter, runs: Sequence[RoundTrial]) -> "Array":
    """Columns of equal weight, whatever the parameter: a line and a parabola, or one for each choice."""
    import numpy

    values = [each.draw.values.get(parameter.name) for each in runs]
    if parameter.range is None:
        levels = parameter.values
        return math.sqrt(len(levels)) * numpy.array([[float(same(value, each)) for each in levels] for value in values])
    places = numpy.array([0.5 if value is None else unit_of(parameter, value) for value in values])
    line = 2 * places - 1
    return numpy.stack([3**0.5 * line, 5**0.5 * (3 * line**2 - 1) / 2], axis=1)


def _shares(columns: "Array", present: "Array", ranks: "Array", group: "Array") -> "Array":
    """For each of many designs, the share of the ranks' variance that each group's part of the ridge fit has.

    What the ridge holds back is given back: among independent draws it holds all columns back alike.
    """
    import numpy

    here = present[:, :, group]
    counts = numpy.maximum(present.sum(axis=1), 1)
    centred = numpy.where(here, columns - _mean(columns, here), 0.0)
    deviations = ranks - ranks.mean(axis=1, keepdims=True)
    turned = numpy.swapaxes(centred, 1, 2)
    weights = numpy.linalg.solve(
        turned @ centred + RIDGE * numpy.eye(len(group)), turned @ deviations[:, :, None]
    ).swapaxes(1, 2)
    parts = numpy.stack(
        [(centred * weights)[:, :, group == each].sum(axis=2) for each in range(group.max() + 1)], axis=2
    )
    of_parts = (parts**2).sum(axis=1) / counts
    of_ranks = _variance(deviations[:, :, None], present)
    given_back = (1 + RIDGE / counts) ** 2
    shares: Array = numpy.divide(of_parts * given_back, of_ranks, out=0 * of_parts, where=of_ranks > 0)
    return numpy.minimum(1.0, shares)


def _mean(columns: "Array", here: "Array") -> "Array":
    import numpy

    mean: Array = (columns * here).sum(axis=1, keepdims=True) / numpy.maximum(here.sum(axis=1, keepdims=True), 1)
    return mean


def _variance(deviations: "Array", present: "Array") -> "Array":
    import numpy

    around = numpy.where(present, deviations - _mean(deviations, present), 0.0)
    squares: Array = (around**2).sum(axis=1) / numpy.maximum(present.sum(axis=1), 1)
    return squares
