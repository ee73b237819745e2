"""What fields of a job may hold: fields of the recipe, the workload and the settings, and arguments of user code."""

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from traindyno.core.errors import UsageError
from traindyno.core.file_tables import checked_table
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.round_fields import ARGUMENT, rule_of
from traindyno.core.rounds import RoundJob, Value

NOT_IN_ROUNDS = {
    "device": "the device is chosen where the round runs, with --device",
    "mode": "a round trains",
    "arguments": 'write "model.NAME" = VALUE for each',
    "source_sha256": "it is found when the round runs",
    "weights_sha256": "it is found when the round runs",
    "step_at": "runs of a round step down at 0.5 and 0.75; step_factor says how far",
    "target": "runs of a round go to their end; a target of the round is [target.NAME]",
}


@cache
def field_kinds() -> Mapping[str, Any]:
    """By name, the kind of every field that a job of the recipe has."""
    kinds = {**get_type_hints(Settings), **get_type_hints(WorkloadSpec), **get_type_hints(Recipe)}
    return MappingProxyType({name: kind for name, kind in kinds.items() if name not in NOT_IN_ROUNDS})


def default_of(field: str) -> Value | None:
    """What a job of the recipe has where nobody said anything; null where that is nothing, or not known."""
    for record in (Recipe(learning_rate=math.nan), Settings(batch_size=0), WorkloadSpec(model="")):
        if field in record.__struct_fields__:
            value: Value | None = getattr(record, field)
            return None if field in ("learning_rate", "batch_size", "model") else value
    return None


def job_value(job: RoundJob, field: str) -> Value | None:
    """What the job has before any hyperparameter is set; null where nobody knows."""
    if job.function is not None:
        return job.values.get(field)
    own: dict[str, Value | None] = {"model": job.model, "data": job.data}
    return own.get(field, job.values.get(field, default_of(field)))


def is_whole(field: str, is_own: bool) -> bool:
    """Whether a field of the recipe's job takes whole numbers alone."""
    kind = None if is_own else field_kinds().get(field)
    return kind is int or int in get_args(kind)


def is_known(field: str, is_own: bool) -> bool:
    """Whether a job may have the field. `is_own`: the job is a function of the user's, which may have any argument."""
    return is_own or field in field_kinds() or (field.startswith(ARGUMENT) and len(field) > len(ARGUMENT))


def check_known(field: str, where: str, is_own: bool) -> None:
    """Refuse a field that no job of a round has; `where` is for errors."""
    if field in NOT_IN_ROUNDS and not is_own:
        raise UsageError(f"{where}: {field} cannot be set for a round", NOT_IN_ROUNDS[field])
    if not is_known(field, is_own):
        checked_table({field: 0}, field_kinds(), where, _nowhere)


def checked_value(field: str, value: Any, where: str, is_own: bool) -> Value:
    """The value as the field's kind has it; an argument of the user's own may be any text, truth or number."""
    kinds: Mapping[str, Any] = {} if is_own else field_kinds()
    if field in kinds:
        checked: Value = checked_table({field: value}, kinds, where, _nowhere)[field]
    elif isinstance(value, bool | int | float | str):
        checked = value
    else:
        raise UsageError(f"{where}: {field} is no single value", "write a text in quotes, a number, true or false")
    _check_limits(field, checked, where)
    return checked


def _check_limits(field: str, value: Value, where: str) -> None:
    if isinstance(value, bool | str):
        return
    rule = rule_of(field)
    if not math.isfinite(value):
        raise UsageError(f"{where}: {field} cannot be {value}", "write a number")
    if rule.above is not None and value <= rule.above:
        raise UsageError(f"{where}: {field} cannot be {value:g}", f"write a number above {rule.above:g}")
    if rule.lowest is not None and value < rule.lowest:
        raise UsageError(f"{where}: {field} cannot be {value:g}", f"write a number from {rule.lowest:g}")
    if rule.below is not None and value >= rule.below:
        raise UsageError(f"{where}: {field} cannot be {value:g}", f"write a number below {rule.below:g}")


def _nowhere(name: str) -> None:
    return None
