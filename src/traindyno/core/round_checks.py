"""What a round must be as a whole: one question, a job that can do what is asked, an incumbent that can be run."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from traindyno.core.errors import UsageError
from traindyno.core.records import is_user_file
from traindyno.core.round_fields import ARGUMENT, rule_of
from traindyno.core.round_kinds import NOT_IN_ROUNDS, checked_value, default_of, field_kinds, is_known, job_value
from traindyno.core.round_space import label_of, same
from traindyno.core.rounds import Goal, Parameter, Round, RoundJob, Value

COMMON = ("data", "epochs", "steps")
"""What the incumbent of a recipe has in common with all other runs, or scores could not be compared."""
_ASKS = ("helps", "effect")


class NothingSearchedError(UsageError):
    """A round without a target or a nuisance: all its runs would be the same one."""


def check_question(goal: Goal, parameters: tuple[Parameter, ...], where: str) -> None:
    """One round, one question: at most one target, and one exactly where the goal is about it."""
    targets = [each.name for each in parameters if each.role == "target"]
    if len(targets) > 1:
        raise UsageError(
            f"{where}: {' and '.join(targets)} are two questions",
            f"keep one as the target; make {targets[1]} a nuisance or fixed, and ask about it in the next round",
        )
    if targets and goal.kind not in _ASKS:
        raise UsageError(
            f'{where}: "{goal.kind}" asks about no target, but {targets[0]} is one',
            f'write kind = "helps" or "effect", or make {targets[0]} a nuisance',
        )
    if not targets and goal.kind in _ASKS:
        raise UsageError(
            f'{where}: "{goal.kind}" asks about a target, and there is none',
            'add [target.NAME] with values = [...], or write kind = "maximise"',
        )


def check_round(round_: Round, where: str) -> None:
    """Raise for what cannot be run, or would do nothing."""
    if round_.job.function is None:
        _check_recipe_job(round_, where)
    for parameter in round_.parameters:
        _check_fixed(parameter, round_.job, where)
    _check_prune(round_, where)
    _check_incumbent(round_, where)
    if round_.target is None and not round_.searched:
        raise NothingSearchedError(
            f"{where}: nothing is searched, so all runs would be the same",
            "add [nuisance.NAME] with low = ... and high = ..., or with values = [...]",
        )


def checked_incumbent(table: Mapping[str, Any], round_: Round, where: str) -> dict[str, Value]:
    """The incumbent's values, each of a field that the job has."""
    where, is_own = f"{where}, [incumbent]", round_.job.function is not None
    known = {*round_.job.values, *(each.field for each in round_.parameters)}
    known |= set() if is_own else set(field_kinds())
    for name in table:
        if name not in known and (is_own or name in NOT_IN_ROUNDS or not is_known(name, is_own=False)):
            raise UsageError(f"{where}: there is no {name!r}", _meant(name, known, round_))
    values = {name: checked_value(name, value, where, is_own) for name, value in table.items()}
    for name in () if is_own else COMMON:
        if name in values and not same(values[name], job_value(round_.job, name)):
            raise UsageError(f"{where}: the incumbent has the same {name} as all other runs", f"leave {name} away")
    return values


def possible_values(round_: Round, field: str) -> Iterator[Value | None]:
    """Every value that some run of the round may have for a field that is a choice."""
    said = [each for each in round_.parameters if each.field == field]
    for each in said:
        yield from each.values
        if each.value is not None:
            yield each.value
    if all(each.under is not None for each in said):
        yield job_value(round_.job, field)


def _meant(name: str, known: set[str], round_: Round) -> str:
    other = next((each for each in round_.parameters if each.name == name), None)
    if other is not None:
        return f"it is named by what is set: {other.field}"
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"


def _check_recipe_job(round_: Round, where: str) -> None:
    for field, example in (("model", '"mlp:64"'), ("batch_size", "64")):
        if any(value is None for value in possible_values(round_, field)):
            raise UsageError(f"{where}: the job has no {field}", f"add {field} = {example} under [job]")
    models = [str(model) for model in possible_values(round_, "model")]
    fields = (*round_.job.values, *(each.field for each in round_.parameters))
    argument = next((field for field in fields if field.startswith(ARGUMENT)), None)
    if argument is not None and not any(is_user_file(model) for model in models):
        raise UsageError(
            f"{where}: {models[0]} takes no argument {argument.removeprefix(ARGUMENT)!r}",
            f"leave {argument} away; arguments are for models of your own, file.py:function",
        )
    for parameter in round_.parameters:
        _check_matters(parameter, round_, where)


def _check_matters(parameter: Parameter, round_: Round, where: str) -> None:
    needs = rule_of(parameter.field).matters_with
    if parameter.said and needs is not None and needs[1] not in set(possible_values(round_, needs[0])):
        raise UsageError(
            f"{where}: {parameter.field} only matters with {needs[0]} = {needs[1]!r}, which no run has",
            f"leave [{parameter.role}.{parameter.name}] away",
        )


def _check_fixed(parameter: Parameter, job: RoundJob, where: str) -> None:
    own = {"model": job.model, "data": job.data} if job.function is None else {}
    told = job.values.get(parameter.field, own.get(parameter.field))
    if parameter.role != "fixed" or parameter.under is not None or told is None or same(told, parameter.value):
        return
    assert parameter.value is not None
    raise UsageError(
        f"{where}: {parameter.field} is {label_of(told)} in [job], and fixed at {label_of(parameter.value)}",
        f"write the right one in [fixed.{parameter.name}] alone",
    )


def _check_prune(round_: Round, where: str) -> None:
    if not round_.prune:
        return
    if round_.job.function is not None:
        raise UsageError(f"{where}: a job of your own is not ended half-way", "leave prune away")
    decaying = [value for value in possible_values(round_, "schedule") if value != "constant"]
    if decaying:
        raise UsageError(
            f"{where}: pruning compares runs half-way, and with the schedule {decaying[0]} that says little of the end",
            'leave prune away, or write schedule = "constant"',
        )


def _check_incumbent(round_: Round, where: str) -> None:
    """The gate runs the incumbent, so its values must be known, unless the recipe has one where nothing is said."""
    if round_.goal.kind == "initial":
        return  # which looks for the first one
    is_own = round_.job.function is not None
    for parameter in (each for each in round_.parameters if each.role != "fixed" and each.under is None):
        field = parameter.field
        is_open = is_own or field.startswith(ARGUMENT) or parameter.role == "target"
        told = (
            field in round_.incumbent
            or field in round_.job.values
            or (field == "model" and round_.job.model is not None)
        )
        if is_open and not told and (is_own or default_of(field) is None):
            raise UsageError(
                f"{where}: nobody says which {field} there is to beat", f"add {field} = ... under [incumbent]"
            )
