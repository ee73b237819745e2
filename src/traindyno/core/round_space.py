"""The space that a round searches: its arms and their branches, the parameters that exist there, and configurations.

A point lies in the unit cube, one side for each parameter. Values are by a parameter's name; a configuration is by the
field of the job that a parameter sets.
"""

import math
from collections.abc import Callable, Mapping

from traindyno.core.round_kinds import default_of
from traindyno.core.rounds import ALONE, Configuration, Parameter, Range, Round, Value

FINENESS = 10_000
"""Parts of a range that drawn numbers tell apart; more digits would only make them hard to read."""
JUST_BELOW_ONE = math.nextafter(1.0, 0.0)
"""The last place of all."""


def value_at(parameter: Parameter, unit: float) -> Value:
    """The value at a place from 0 to just below 1; whole numbers and choices have equal shares of it.

    A whole number on a log scale has the share from itself to the next one.
    """
    if parameter.range is None:
        return parameter.values[math.floor(min(unit, JUST_BELOW_ONE) * len(parameter.values))]
    low, high = _ends(parameter.range)
    number = low * (high / low) ** unit if parameter.range.scale == "log" else low + unit * (high - low)
    return fitted(parameter.range, math.floor(number) if parameter.range.integer else number)


def unit_of(parameter: Parameter, value: Value) -> float:
    """Where a value lies: the middle of its share, if it has one. Numbers outside the range lie beyond 0 or 1."""
    if parameter.range is None:
        place = next(place for place, each in enumerate(parameter.values) if same(each, value))
        return (place + 0.5) / len(parameter.values)
    number = float(value)
    if not parameter.range.integer:
        return _share(parameter.range, number)
    return (_share(parameter.range, number) + _share(parameter.range, number + 1)) / 2


def fitted(within: Range, number: float) -> Value:
    """The nearest number of the range, with as many digits as matter in it."""
    if within.integer:
        return int(min(max(round(number), math.ceil(within.low)), math.floor(within.high)))
    if within.high == within.low:
        return float(within.low)
    step = (within.high - within.low) / FINENESS
    if within.scale == "log":
        step = number * math.log(within.high / within.low) / FINENESS
    short = round(number, -math.floor(math.log10(step)))
    return float(min(max(short, within.low), within.high))


def label_of(value: Value) -> str:
    """A value as text, as the round's file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(first: Value | None, second: Value | None) -> bool:
    """Whether two values are equal; true and false are no numbers."""
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def arms_of(round: Round) -> tuple[str, ...]:
    """The labels of the target's values."""
    target = round.target
    return (ALONE,) if target is None else tuple(label_of(value) for value in options_of(target))


def target_value(round: Round, arm: str) -> Value | None:
    """The value that an arm gives the target; null without a target, or where the round has no such arm any more."""
    options = () if round.target is None else options_of(round.target)
    return next((value for value in options if label_of(value) == arm), None)


def options_of(parameter: Parameter) -> tuple[Value, ...]:
    """All values that a parameter can have; none if it has too many to count."""
    if parameter.range is None or not parameter.range.integer:
        return parameter.values
    return tuple(range(math.ceil(parameter.range.low), math.floor(parameter.range.high) + 1))


def branches_of(round: Round, arm: str) -> dict[str, dict[str, Value]]:
    """The values of those choices in an arm on which other searched parameters depend, by the branch's label."""
    branches: list[dict[str, Value]] = [{}]
    for parameter in _parents_first(round):
        if _branches(round, parameter):
            branches = [
                {**branch, **option}
                for branch in branches
                for option in _options_in(round, parameter, _set_by(round, arm) | branch)
            ]
    return {_branch_label(branch): branch for branch in branches}


def dimensions_of(round: Round, arm: str, branch: str) -> tuple[Parameter, ...]:
    """The parameters to be drawn in a branch of an arm: those that exist there and are not settled by it."""
    settled = _set_by(round, arm) | branches_of(round, arm).get(branch, {})
    return tuple(each for each in round.searched if each.name not in settled and exists(round, each, settled))


def exists(round: Round, parameter: Parameter, values: Mapping[str, Value]) -> bool:
    """Whether a parameter exists where others have `values`, by name: all its parents have the value it is under."""
    if parameter.under is None:
        return True
    name, value = parameter.under
    parent = _parameter(round, name)
    if parent is None:
        return same(_plain(round, name), value)
    given = values.get(name, parent.value if parent.role == "fixed" else None)
    return same(given, value) and exists(round, parent, values)


def contains(round: Round, arm: str, branch: str, values: Mapping[str, Value]) -> bool:
    """Whether a run with these values is one of this branch of an arm, as the round has it now."""
    return membership(round, arm, branch)(values)


def membership(round: Round, arm: str, branch: str) -> Callable[[Mapping[str, Value]], bool]:
    """The same for many runs: what tells by its values whether a run is one of this branch.

    A parameter that has been fixed since must have had the value that it is fixed at.
    """
    if arm not in arms_of(round) or branch not in branches_of(round, arm):
        return lambda _: False
    settled = _set_by(round, arm) | branches_of(round, arm)[branch]
    dimensions = {each.name: each for each in dimensions_of(round, arm, branch)}
    known = settled.keys() | dimensions.keys()

    def is_member(values: Mapping[str, Value]) -> bool:
        return (
            known <= values.keys()
            and all(same(values[name], value) for name, value in settled.items())
            and all(is_within(each, values[name]) for name, each in dimensions.items())
            and all(_is_fixed_at(round, name, values[name]) for name in values.keys() - known)
        )

    return is_member


def is_within(parameter: Parameter, value: Value) -> bool:
    """Whether a value is one of the parameter's."""
    if parameter.range is None:
        return any(same(value, each) for each in parameter.values)
    if isinstance(value, (bool, str)) or not parameter.range.low <= value <= parameter.range.high:
        return False
    return not parameter.range.integer or value == int(value)


def configuration_of(round: Round, values: Mapping[str, Value]) -> Configuration:
    """What a run with these values, by name, trains with: the job's own, the fixed ones that exist there, and they."""
    job = round.job
    named = {} if job.function is not None else {"model": job.model, "data": job.data}
    known = {field: value for field, value in named.items() if value is not None}
    fixed = (each for each in round.parameters if each.role == "fixed" and exists(round, each, values))
    return {
        **known,
        **job.values,
        **{each.field: each.value for each in fixed if each.value is not None},
        **{_field(round, name): value for name, value in values.items()},
    }


def incumbent_of(round: Round) -> Configuration:
    """What there is to beat. What the round does not say of it is as the job has it, or the recipe by default."""
    plain = {each.field: _plain(round, each.field) for each in round.parameters}
    given = {field: value for field, value in plain.items() if value is not None} | round.incumbent
    return {**configuration_of(round, values_of(round, given)), **round.incumbent}


def has_incumbent(round: Round) -> bool:
    """Whether the incumbent can be trained at all: a recipe needs to be told its learning rate."""
    return round.job.function is not None or "learning_rate" in incumbent_of(round)


def planned_trials(round: Round) -> int | None:
    """How many runs the round has in all; null where only time bounds it."""
    if round.budget.trials is None:
        return None
    then = round.then_trials if exploits(round) else 0
    return gate_runs(round) + len(arms_of(round)) * (round.budget.trials + then)


def gate_runs(round: Round) -> int:
    """Runs of the incumbent that come first: none where it cannot be trained, or where a first one is looked for."""
    return 0 if round.goal.kind == "initial" or not has_incumbent(round) else round.seeds.gate


def exploits(round: Round) -> bool:
    """Whether the plain search is followed by one that learns from it."""
    return round.then in ("gp", "tpe") and round.then_trials > 0


def values_of(round: Round, configuration: Mapping[str, Value]) -> dict[str, Value]:
    """The values of target and nuisances by name, of those that exist there and whose field the configuration has."""
    values: dict[str, Value] = {}
    for parameter in _parents_first(round):
        if parameter.field in configuration and exists(round, parameter, values):
            values[parameter.name] = configuration[parameter.field]
    return values


def _ends(within: Range) -> tuple[float, float]:
    """Where the shares of the least and of the greatest number begin and end."""
    if within.integer:
        return math.ceil(within.low), math.floor(within.high) + 1
    return within.low, within.high


def _share(within: Range, number: float) -> float:
    low, high = _ends(within)
    if high == low:
        return 0.5
    if within.scale == "log":
        return math.log(number / low) / math.log(high / low)
    return (number - low) / (high - low)


def _set_by(round: Round, arm: str) -> dict[str, Value]:
    value = target_value(round, arm)
    return {} if round.target is None or value is None else {round.target.name: value}


def _parents_first(round: Round) -> list[Parameter]:
    """Target and nuisances, each after what it depends on."""

    def depth(parameter: Parameter) -> int:
        parent = None if parameter.under is None else _parameter(round, parameter.under[0])
        return 0 if parent is None else 1 + depth(parent)

    return sorted((each for each in round.parameters if each.role != "fixed"), key=depth)


def _branches(round: Round, parameter: Parameter) -> bool:
    has_children = any(each.under is not None and each.under[0] == parameter.name for each in round.searched)
    return parameter.role == "nuisance" and has_children and bool(options_of(parameter))


def _options_in(round: Round, parameter: Parameter, known: Mapping[str, Value]) -> list[dict[str, Value]]:
    if not exists(round, parameter, known):
        return [{}]
    return [{parameter.name: value} for value in options_of(parameter)]


def _branch_label(branch: Mapping[str, Value]) -> str:
    return ",".join(f"{name}={label_of(value)}" for name, value in branch.items()) or ALONE


def _parameter(round: Round, name: str) -> Parameter | None:
    return next((each for each in round.parameters if each.name == name), None)


def _field(round: Round, name: str) -> str:
    parameter = _parameter(round, name)
    return name if parameter is None else parameter.field


def _is_fixed_at(round: Round, name: str, value: Value) -> bool:
    parameter = _parameter(round, name)
    return parameter is not None and parameter.role == "fixed" and same(parameter.value, value)


def _plain(round: Round, field: str) -> Value | None:
    """What the job has in a field before any parameter sets it: its own, or the recipe's by default."""
    job = round.job
    if job.function is not None:
        return job.values.get(field)
    named = {"model": job.model, "data": job.data, **job.values}
    return named[field] if field in named else default_of(field)
