"""Conditional hyperparameters: every parent is there, nobody is its own ancestor, no field is set twice at once."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import combinations

from traindyno.core.errors import UsageError
from traindyno.core.round_space import label_of, same
from traindyno.core.rounds import Parameter, RoundJob, Value


def check_conditions(parameters: Sequence[Parameter], job: RoundJob, where: str) -> None:
    """Raise for names, parents and fields that contradict one another."""
    _check_names(parameters, where)
    for parameter in parameters:
        if parameter.under is not None:
            _check_parent(parameter, parameters, job, where)
    for parameter in parameters:
        _check_cycle(parameter, parameters, where)
    for first, second in combinations(parameters, 2):
        if first.field == second.field and can_coexist(first, second, parameters):
            raise _set_twice(first, second, where)


def can_coexist(first: Parameter, second: Parameter, parameters: Sequence[Parameter]) -> bool:
    """Whether some run can have both: not if they need different values of one ancestor."""
    needed = dict(_conditions(first, parameters))
    others = _conditions(second, parameters)
    return all(name not in needed or same(needed[name], value) for name, value in others)


def _conditions(parameter: Parameter, parameters: Sequence[Parameter]) -> Iterator[tuple[str, Value]]:
    """What must hold for the parameter to exist: its parent's value, the grandparent's, and so on."""
    at: Parameter | None = parameter
    while at is not None and at.under is not None:
        yield at.under
        at = _named(at.under[0], parameters)


def _check_names(parameters: Sequence[Parameter], where: str) -> None:
    for first, second in combinations(parameters, 2):
        if first.name == second.name:
            raise UsageError(
                f"{where}: {first.name} is {first.role} and {second.role} at once",
                "leave one of the two away, or give one another name and sets = "
                f'"{first.field}" if they have different parents',
            )


def _check_parent(parameter: Parameter, parameters: Sequence[Parameter], job: RoundJob, where: str) -> None:
    assert parameter.under is not None
    (name, value), place = parameter.under, f"{where}, [{parameter.role}.{parameter.name}]"
    parent = _named(name, parameters)
    if parent is None and (name in job.values or name in ("model", "data", "optimizer")):
        raise UsageError(f"{place}: {name} is fixed by the job, so nothing depends on it", "leave under away")
    if parent is None:
        raise UsageError(f"{place}: there is no {name!r} to stand under", _parents(name, parameters))
    if parent.role == "fixed":
        raise UsageError(f"{place}: {name} is fixed, so nothing depends on it", "leave under away")
    if parent.range is not None:
        raise UsageError(
            f"{place}: {name} is a range, and only values of a choice have parameters of their own",
            f"give {name} values = [...], or leave under away",
        )
    if not any(same(value, each) for each in parent.values):
        there = ", ".join(label_of(each) for each in parent.values)
        raise UsageError(f"{place}: {name} is never {label_of(value)}", f"its values are {there}")


def _parents(name: str, parameters: Sequence[Parameter]) -> str:
    known = [each.name for each in parameters if each.values]
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"parents may be {', '.join(known)}" if known else f"add [nuisance.{name}] with values = [...]"


def _check_cycle(parameter: Parameter, parameters: Sequence[Parameter], where: str) -> None:
    seen = [parameter.name]
    for name, _ in _conditions(parameter, parameters):
        if name in seen:
            raise UsageError(
                f"{where}: {' under '.join([*seen, name])} never begins to exist", "leave under away at one of them"
            )
        seen.append(name)


def _set_twice(first: Parameter, second: Parameter, where: str) -> UsageError:
    return UsageError(
        f"{where}: {first.name} and {second.name} both set {first.field} in the same run",
        "leave one away, or put them under different values of one parent",
    )


def _named(name: str, parameters: Sequence[Parameter]) -> Parameter | None:
    return next((each for each in parameters if each.name == name), None)
