"""The part of a space in which the better runs lie, for the search that learns from them."""

from collections.abc import Sequence

import msgspec

from traindyno.core.base import Record
from traindyno.core.round_space import unit_of, value_at
from traindyno.core.rounds import Parameter, Value

FEWEST_RUNS = 9
"""A third of fewer says too little about where the better ones lie."""


class Seen(Record, frozen=True):
    """A run that has ended. `score` is null where its values cannot be had: it diverged, crashed or ran out."""

    values: dict[str, Value]
    score: float | None


def refined(dimensions: Sequence[Parameter], seen: Sequence[Seen], *, higher_is_better: bool) -> tuple[Parameter, ...]:
    """The dimensions, their ranges narrowed to what the best third of the runs spans, and a good deal around it.

    What is added on either side is twice the mean distance between neighbours among them, so that a range in which
    the best lie anywhere stays as it is.
    """
    scored = [(run.score, run) for run in seen if run.score is not None]
    if len(scored) < FEWEST_RUNS:
        return tuple(dimensions)
    ordered = sorted(scored, key=lambda pair: pair[0], reverse=higher_is_better)
    best = [run for _, run in ordered[: len(ordered) // 3]]
    return tuple(_narrowed(each, [run.values[each.name] for run in best]) for each in dimensions)


def _narrowed(parameter: Parameter, values: Sequence[Value]) -> Parameter:
    if parameter.range is None:
        return parameter
    units = [unit_of(parameter, value) for value in values]
    around = 2 * (max(units) - min(units)) / (len(units) - 1)
    low, high = (value_at(parameter, min(max(unit, 0.0), 1.0)) for unit in (min(units) - around, max(units) + around))
    return msgspec.structs.replace(parameter, range=msgspec.structs.replace(parameter.range, low=low, high=high))
