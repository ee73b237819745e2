"""The hyperparameters of a round's file, one table each under its role: `[nuisance.learning_rate]`."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.file_tables import checked_table
from traindyno.core.round_fields import automatic_caveat, has_rule, own_name, rule_of, usual_range
from traindyno.core.round_kinds import check_known, checked_value, field_kinds, is_known, is_whole
from traindyno.core.round_rules import LENGTHS
from traindyno.core.round_space import label_of, same
from traindyno.core.rounds import Parameter, Range, Role, Scale, Value

ROLES: tuple[Role, ...] = ("target", "nuisance", "fixed")
_CONDITION = {"sets": str, "under": dict[str, bool | int | float | str]}
_KEYS: dict[Role, dict[str, Any]] = {
    "target": {"values": list[Any], **_CONDITION},
    "nuisance": {
        "values": list[Any],
        "low": float | int,
        "high": float | int,
        "scale": Scale,
        "integer": bool,
        **_CONDITION,
    },
    "fixed": {"value": Any, "caveat": str, **_CONDITION},
}
_EXAMPLES = {
    "target": 'values = ["mlp:64", "mlp:64x64"]',
    "nuisance": "low = 0.001 and high = 1.0, or values = [...]",
    "fixed": "value = 0.0",
}


class Place(Record, frozen=True):
    """Where a parameter stands, for errors, and what is known of its job."""

    file_name: str
    role: Role
    name: str
    is_own: bool
    optimizer: str

    def __str__(self) -> str:
        return f"{self.file_name}, [{self.role}.{self.name}]"


def read_parameters(
    tables: Mapping[str, Mapping[str, Any]], file_name: str, is_own: bool, optimizer: str
) -> Iterator[Parameter]:
    """All parameters that the file names, by their roles. `optimizer` is the job's own."""
    for role in ROLES:
        for name, table in tables[role].items():
            place = Place(file_name=file_name, role=role, name=name, is_own=is_own, optimizer=optimizer)
            yield _parameter(_checked(table, place), place)


def _checked(table: Any, place: Place) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(
            f"{place.file_name}: {place.role}.{place.name} is a table and no single value",
            f"write [{place.role}.{place.name}] on a line, and below it {_EXAMPLES[place.role]}",
        )
    if table and all(isinstance(each, dict) for each in table.values()) and set(table) != {"under"}:
        name = f"{place.name}.{next(iter(table))}"
        raise UsageError(f"{place.file_name}: a name with a dot needs quotes", f'write [{place.role}."{name}"]')
    if place.role == "target" and table.keys() & {"low", "high"}:
        raise UsageError(f"{place}: a target has an arm for each of its values", "write values = [0.0, 0.1]")
    if place.role == "fixed" and table.keys() & {"low", "high", "values"}:
        raise UsageError(f"{place}: what is fixed has one value", "write value = ..., or make it a [nuisance...]")
    return checked_table(table, _KEYS[place.role], str(place), lambda name: None)


def _parameter(table: dict[str, Any], place: Place) -> Parameter:
    field = table.get("sets", place.name)
    check_known(field, str(place), place.is_own)
    under = _under(table.get("under"), place)
    common: dict[str, Any] = {"name": place.name, "role": place.role, "under": under}
    common["sets"] = None if field == place.name else field
    if place.role == "fixed":
        value = _fixed_value(field, table, place)
        return Parameter(**common, value=value, caveat=_caveat(field, value, table, place))
    _check_searchable(field, place)
    if "values" in table:
        return Parameter(**common, values=_values(field, table, place))
    if place.role == "target":
        raise UsageError(f"{place}: the target has no values", f"add {_EXAMPLES['target']}")
    return Parameter(**common, range=_range(field, table, under, place))


def _check_searchable(field: str, place: Place) -> None:
    if own_name(field) in LENGTHS:
        raise UsageError(
            f"{place}: the length of a run is not searched, for longer runs nearly always win",
            f"write {field} = ... under [job], and ask about another length in a round of its own",
        )
    if field == "data" and not place.is_own:
        raise UsageError(f"{place}: scores on different data cannot be compared", "write data = ... under [job]")


def _under(table: Mapping[str, Value] | None, place: Place) -> tuple[str, Value] | None:
    if table is None:
        return None
    if place.role == "target":
        raise UsageError(f"{place}: a target exists in every run, under no condition", "leave under away")
    if len(table) != 1:
        raise UsageError(f"{place}: a parameter has one parent", 'write under = { optimizer = "sgd" }')
    return next(iter(table.items()))


def _values(field: str, table: Mapping[str, Any], place: Place) -> tuple[Value, ...]:
    if table.keys() & {"low", "high", "scale", "integer"}:
        raise UsageError(f"{place}: it has values and a range", "leave one of the two away")
    values = tuple(checked_value(field, each, str(place), place.is_own) for each in table["values"])
    if len(values) < 2:
        raise UsageError(
            f"{place}: {len(values) or 'no'} value{'' if len(values) == 1 else 's'} to choose from",
            f"write two or more, or [fixed.{place.name}] with one",
        )
    labels = [label_of(value) for value in values]
    for label, value in zip(labels, values, strict=True):
        if labels.count(label) > 1 or sum(same(value, each) for each in values) > 1:
            raise UsageError(f"{place}: {label} stands twice among its values", "write it once")
    return values


def _range(field: str, table: dict[str, Any], under: tuple[str, Value] | None, place: Place) -> Range:
    usual = usual_range(field, str(under[1]) if under and under[1] in rule_of(field).ranges else place.optimizer)
    if not table.keys() & {"low", "high"} and usual is not None:
        return usual
    for end in ("low", "high"):
        if end not in table:
            raise UsageError(f"{place}: the range has no {end} end", f"add {end} = ..., or values = [...]")
    _check_written(field, table, place)
    found = Range(
        low=float(table["low"]),
        high=float(table["high"]),
        scale=table.get("scale", usual_scale(field, table["low"])),
        integer=table.get("integer", is_whole(field, place.is_own)),
    )
    _check_range(field, found, place)
    return found


def usual_scale(field: str, low: float) -> Scale:
    """As the rule's own ranges have it, where that can be."""
    is_log = low > 0 and any(each.scale == "log" for each in rule_of(field).ranges.values())
    return "log" if is_log else "linear"


def _check_written(field: str, table: Mapping[str, Any], place: Place) -> None:
    """Of an argument of the user's own, `low = 1` and `high = 8` may be meant as layers or as a share of something."""
    is_own = place.is_own or field not in field_kinds()
    is_open = is_own and not rule_of(field).ranges and "integer" not in table
    if is_open and isinstance(table["low"], int) and isinstance(table["high"], int):
        raise UsageError(
            f"{place}: {table['low']} to {table['high']} may mean whole numbers alone, or all between",
            f"add integer = true, or write low = {float(table['low'])}",
        )


def _check_range(field: str, found: Range, place: Place) -> None:
    for end in (found.low, found.high):
        if not math.isfinite(end):
            raise UsageError(f"{place}: a range cannot end at {end}", "write a number")
    if found.low >= found.high:
        raise UsageError(f"{place}: low = {found.low:g} is not below high = {found.high:g}", "exchange them")
    if found.scale == "log" and found.low <= 0:
        raise UsageError(
            f"{place}: a log scale has no {found.low:g}", 'write low above 0, such as 0.0001, or scale = "linear"'
        )
    if found.integer and not (found.low.is_integer() and found.high.is_integer()):
        raise UsageError(
            f"{place}: whole numbers end at whole numbers", "write low and high as such, or integer = false"
        )
    if not found.integer and is_whole(field, place.is_own):
        raise UsageError(f"{place}: {field} takes whole numbers alone", "leave integer = false away")
    for end in (found.low, found.high):
        checked_value(field, int(end) if found.integer else end, str(place), place.is_own)


def _fixed_value(field: str, table: Mapping[str, Any], place: Place) -> Value:
    if "value" not in table:
        raise UsageError(f"{place}: it is not said at what it is fixed", f"add {_EXAMPLES['fixed']}")
    if isinstance(table["value"], list):
        raise UsageError(f"{place}: what is fixed has one value", "write one, or make it a [nuisance...] with values")
    return checked_value(field, table["value"], str(place), place.is_own)


def _caveat(field: str, value: Value, table: Mapping[str, Any], place: Place) -> str:
    if "caveat" in table and table["caveat"].strip():
        return str(table["caveat"])
    if not has_rule(field) and not is_known(field, is_own=False):
        raise UsageError(
            f"{place}: no rule says what is left open by fixing {field}",
            f'add caveat = "the answer holds for {field} = {label_of(value)}", or what else it does not cover',
        )
    return automatic_caveat(field, value)
