"""Where the best third of the runs lies along one parameter, with air around it."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from traindyno.analysis.intervals import median
from traindyno.analysis.rounds.trials import best_first
from traindyno.core.base import Record
from traindyno.core.round_space import JUST_BELOW_ONE, label_of, unit_of, value_at
from traindyno.core.rounds import Parameter, Round, RoundTrial, Value

FEWEST_OF_THIRD = 4
AIR = 0.1
"""Of the whole range, on both sides: the best third is where runs happened to be, not where good values end."""


class Region(Record, frozen=True):
    """A part of a parameter's range, or some of its values; `share` is how much of all that is."""

    centre: Value
    share: float
    low: float | None = None
    high: float | None = None
    values: tuple[Value, ...] = ()


def best_region(round_: Round, parameter: Parameter, runs: Sequence[RoundTrial]) -> Region | None:
    """The hull over arms and branches of where their best thirds lie; null where one of them has too few runs."""
    having = sorted((each for each in runs if parameter.name in each.draw.values), key=_place)
    thirds = [_best_third(round_, list(group)) for _, group in groupby(having, key=_place)]
    if not thirds or min(map(len, thirds)) < FEWEST_OF_THIRD:
        return None
    values = [each.draw.values[parameter.name] for third in thirds for each in third]
    return _chosen(parameter, values) if parameter.range is None else _ranged(parameter, values)


def _place(trial: RoundTrial) -> tuple[str, str]:
    return trial.draw.arm, trial.draw.branch


def _best_third(round_: Round, runs: Sequence[RoundTrial]) -> list[RoundTrial]:
    ranked = best_first(round_.metric, runs)
    return ranked[: len(ranked) // 3]


def _chosen(parameter: Parameter, values: Sequence[Value]) -> Region:
    labels = [label_of(value) for value in values]
    left = tuple(value for value in parameter.values if label_of(value) in labels)
    commonest = max(left, key=lambda value: labels.count(label_of(value)))
    return Region(centre=commonest, share=len(left) / len(parameter.values), values=left)


def _ranged(parameter: Parameter, values: Sequence[Value]) -> Region:
    within = parameter.range
    assert within is not None
    places = [unit_of(parameter, value) for value in values]
    bottom, top = max(0.0, min(places) - AIR), min(1.0, max(places) + AIR)
    low, high = (value_at(parameter, min(place, JUST_BELOW_ONE)) for place in (bottom, top))
    return Region(
        centre=value_at(parameter, min(median(places), JUST_BELOW_ONE)),
        share=top - bottom,
        low=within.low if bottom == 0 else max(within.low, _short(float(low), math.floor)),
        high=within.high if top == 1 else min(within.high, _short(float(high), math.ceil)),
    )


def _short(number: float, rounding: Callable[[float], int]) -> float:
    """Two digits, rounded outwards."""
    if number == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 1)
    return float(f"{rounding(round(number / unit, 6)) * unit:.3g}")
