"""The parameters that a round was searched over as axes, and where values lie on them."""

import math
from collections.abc import Iterable
from typing import Literal

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.base import Record
from traindyno.core.rounds import Parameter, Value
from traindyno.report.charts.rounds_runs import round_of, value_text
from traindyno.report.wording import known

WIDE_SPAN = 50.0
"""Values that differ by more than this factor are taken to be on a logarithmic axis where no range says so."""

AxisKind = Literal["log", "linear", "choice"]


class ParameterAxis(Record, frozen=True):
    """One searched parameter: the ends of its range, or its choices as text. `incumbent` is null where it has none."""

    name: str
    field: str
    kind: AxisKind
    low: float = 0.0
    high: float = 1.0
    choices: tuple[str, ...] = ()
    incumbent: Value | None = None


def parameter_axes(document: Document) -> list[ParameterAxis]:
    """What every arm was searched over, from the round itself, or else from the values that its runs have."""
    answer: RoundAnswer = document.answer
    told = round_of(document)
    if told is not None:
        return [_told_axis(each, answer) for each in told.searched]
    names = dict.fromkeys(name for run in answer.runs for name in run.draw.values if name != answer.target)
    return [_guessed_axis(name, answer) for name in names]


def number_on(axis: ParameterAxis, value: Value | None) -> float | None:
    """Where a value lies on a numeric axis; null where it lies on none."""
    if value is None or isinstance(value, bool | str) or not known(value):
        return None
    return None if axis.kind == "log" and value <= 0 else float(value)


def _told_axis(parameter: Parameter, answer: RoundAnswer) -> ParameterAxis:
    incumbent = answer.incumbent.get(parameter.field)
    own = [value for run in answer.runs if (value := run.draw.values.get(parameter.name)) is not None]
    name, field = parameter.name, parameter.field
    if parameter.range is None:
        choices = tuple(dict.fromkeys(value_text(value) for value in (*parameter.values, *own)))
        return ParameterAxis(name=name, field=field, kind="choice", choices=choices, incumbent=incumbent)
    low, high, kind = parameter.range.low, parameter.range.high, parameter.range.scale
    return ParameterAxis(name=name, field=field, kind=kind, low=low, high=high, incumbent=incumbent)


def _guessed_axis(name: str, answer: RoundAnswer) -> ParameterAxis:
    values = [run.draw.values[name] for run in answer.runs if name in run.draw.values]
    incumbent = answer.incumbent.get(name)
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        choices = tuple(dict.fromkeys(map(value_text, values)))
        return ParameterAxis(name=name, field=name, kind="choice", choices=choices, incumbent=incumbent)
    low, high = min(numbers), max(numbers)
    kind: AxisKind = "log" if low > 0 and high / low > WIDE_SPAN else "linear"
    return ParameterAxis(name=name, field=name, kind=kind, low=low, high=high, incumbent=incumbent)


def domain_of(axis: ParameterAxis, values: Iterable[Value | None]) -> tuple[float, float]:
    """The range, what lies outside of it, and a little air."""
    inside = [number for value in (axis.low, axis.high, *values) if (number := number_on(axis, value)) is not None]
    low, high = min(inside, default=0.1), max(inside, default=1.0)
    if axis.kind == "log":
        air = max(1.1, (high / low) ** 0.05)
        return low / air, high * air
    air = 0.05 * (high - low) or abs(high) * 0.1 or 1.0
    return low - air, high + air


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten where three of them lie between the ends, or else 1, 2 and 5 times them: few enough to be read."""
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    tens = [power for power in powers if low <= power <= high]
    if len(tens) >= 3:
        return tens
    return [times * power for power in powers for times in (1, 2, 5) if low <= times * power <= high]


def unit_on(axis: ParameterAxis, value: Value, domain: tuple[float, float]) -> float | None:
    """Where a value lies between the ends of the axis, from 0 to 1; null where it is on none."""
    if axis.kind == "choice":
        text = value_text(value)
        last = len(axis.choices) - 1
        return (axis.choices.index(text) / last if last else 0.5) if text in axis.choices else None
    number = number_on(axis, value)
    if number is None:
        return None
    low, high, at = (math.log(each) for each in (*domain, number)) if axis.kind == "log" else (*domain, number)
    return (at - low) / (high - low)
