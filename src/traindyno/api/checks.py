"""Values that the command line's options would refuse are refused here, by the argument's name and before any work."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.records import LARGEST_SEED
from traindyno.core.units import MOST_BYTES


class Range(NamedTuple):
    """Which numbers an argument takes, in words, and what is said of others."""

    takes: Callable[[float], bool]
    words: str
    fault: str = "cannot be meant"


_COUNT = Range(lambda number: number >= 1, "a whole number from 1 on")
_SEVERAL = Range(lambda number: number >= 2, "a whole number from 2 on")
_LENGTH = Range(lambda number: 0 < number < math.inf, "a number above 0")
_AMOUNT = Range(lambda number: 0 <= number < math.inf, "a number from 0 on")
_SHARE = Range(lambda number: 0 <= number < 1, "a share from 0 to below 1, such as 0.05 for 5 %")
_MEMORY_SHARE = _SHARE._replace(fault="is no share of memory")
_PRICE = _AMOUNT._replace(fault="is not a price")

_RANGES = {
    "repeats": _COUNT,
    "limit": _COUNT,
    "effective_batch": _COUNT,
    "examples": _COUNT,
    "eval_examples": _COUNT,
    "epoch_examples": _COUNT,
    "micro_batch": _COUNT,
    "largest": _COUNT,
    "nodes": _COUNT,
    "local_ranks": _COUNT,
    "image_size": _COUNT,
    "classes": _SEVERAL,
    "conv1_stride": Range(lambda number: number in (1, 2), "1 or 2"),
    "epochs": _LENGTH,
    "eval_every_epochs": _LENGTH,
    "run_seconds": _LENGTH,
    "trial_seconds": _LENGTH,
    "validate_seconds": _LENGTH,
    "step_timeout_seconds": _LENGTH,
    "trial_timeout_seconds": _LENGTH,
    "time_budget_seconds": _LENGTH,
    "memory_limit_bytes": Range(lambda number: 0 < number <= MOST_BYTES, "a number of bytes above 0"),
    "seed": Range(lambda number: 0 <= number <= LARGEST_SEED, "a whole number from 0 on"),
    "tolerance": _SHARE,
    "margin": _MEMORY_SHARE,
    "price_per_hour": _PRICE,
    "price_per_kwh": _PRICE,
}
"""By field of a request, its workload, its bench or its curve; settings and recipes are checked for everybody."""
_RANGES_OF = {"verify": {"repeats": _SEVERAL}}
"""Where a function takes less than others do."""
_PARTS = ("workload", "workloads", "bench", "curve", "plan")
_ARGUMENTS = {"run_seconds": "minutes", "sizes": "batch_size"}
"""Arguments that have another name in a request."""
_WRONG = re.compile(r"(?P<fault>.*) - at `\$(?P<path>.*)`", re.DOTALL)


def check_values(record: Record, function: str) -> None:
    """Refuse values of the wrong type, unknown names and numbers out of range, for whoever called `function`."""
    try:
        msgspec.convert(msgspec.to_builtins(record), type(record))
    except msgspec.ValidationError as error:
        raise _wrong(str(error), type(record), function) from None
    ranges = _RANGES | _RANGES_OF.get(function, {})
    for name, value in _numbers(record):
        if name in ranges and not ranges[name].takes(value):
            raise _out_of_range(name, value, ranges[name], function)


def function_of(request: Record) -> str:
    """The name of the function that makes such requests."""
    return str(request.__struct_config__.tag).replace("-", "_")


def _numbers(record: Record) -> Iterator[tuple[str, float]]:
    """The numbers of a record and of those parts that are made of arguments too."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, int | float):
            yield name, value
        elif name in _PARTS:
            for part in value if isinstance(value, tuple) else (value,):
                yield from _numbers(part) if isinstance(part, Record) else ()


def _out_of_range(name: str, value: float, allowed: Range, function: str) -> UsageError:
    argument = _ARGUMENTS.get(name, name)
    told = value / 60 if argument == "minutes" else value
    return UsageError(
        f"{argument} of {told} {allowed.fault}", f"{argument} is {allowed.words}; see help(traindyno.{function})"
    )


def _wrong(told: str, kind: type[Record], function: str) -> UsageError:
    """What msgspec says of a value, in terms of the argument."""
    found = _WRONG.fullmatch(told)
    assert found is not None, "a record is wrong in one of its fields"
    names = re.findall(r"\.(\w+)", found["path"])
    argument = _ARGUMENTS.get(names[-1], names[-1])
    values = _choices(kind, names)
    fault = found["fault"].removeprefix("Invalid enum value ")
    hint = f"{argument} is one of {', '.join(map(repr, values))}; " if values else ""
    return UsageError(f"{argument} has a wrong value: {fault}", f"{hint}see help(traindyno.{function})")


def _choices(kind: type[Record], names: list[str]) -> list[Any]:
    """The values that a field takes, if these are few."""
    found: inspect.Type = inspect.type_info(kind)
    for name in names:
        assert isinstance(found, inspect.StructType), "only records have fields"
        found = _unwrapped(next(field.type for field in found.fields if field.name == name))
    return list(found.values) if isinstance(found, inspect.LiteralType) else []


def _unwrapped(kind: inspect.Type) -> inspect.Type:
    """What a field holds where it holds something: neither none nor several."""
    if isinstance(kind, inspect.VarTupleType):
        return _unwrapped(kind.item_type)
    if isinstance(kind, inspect.UnionType):
        return _unwrapped(next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
    return kind
