"""Tables of a file that a person wrote: every name and every value checked, each mistake answered with the fix."""

import json
import types
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from traindyno.core.errors import UsageError

HomeOf = Callable[[str], str | None]


def checked_tables(
    content: Mapping[str, Any], known: Collection[str], name: str, home_of: HomeOf, at_top: Collection[str]
) -> dict[str, dict[str, Any]]:
    """The known tables by name, empty where the file has none; `name` is the file's.

    `at_top` are names that may stand above all tables; they are only told here, not taken.
    """
    for key, value in content.items():
        if key not in known:
            what = f"table [{key}]" if isinstance(value, dict) else f"{key!r}"
            near = _nearest(key, known if isinstance(value, dict) else at_top, "there are ")
            home = None if isinstance(value, dict) else home_of(key)
            raise UsageError(f"{name}: there is no {what}", f"{key} belongs under [{home}]" if home else near)
        if not isinstance(value, dict):
            raise UsageError(f"{name}: {key} is a table and cannot be {_shown(value)}", f"write [{key}] on a line")
    return {table: content.get(table, {}) for table in known}


def checked_table(
    values: Mapping[str, Any],
    kinds: Mapping[str, Any],
    where: str,
    home_of: HomeOf,
    least: Mapping[str, int] = types.MappingProxyType({}),
) -> dict[str, Any]:
    """The values as their kinds have them. `home_of` names the table that a name from elsewhere belongs to."""
    checked = {}
    for name, value in values.items():
        if name not in kinds:
            raise _unknown(name, kinds, where, home_of(name))
        try:
            checked[name] = msgspec.convert(value, kinds[name])
        except msgspec.ValidationError:
            raise _wrong(name, value, kinds[name], where, least.get(name)) from None
        if name in least and value is not None and value < least[name]:
            raise _wrong(name, value, kinds[name], where, least[name])
    return checked


def _unknown(name: str, kinds: Mapping[str, Any], where: str, home: str | None) -> UsageError:
    hint = _nearest(name, kinds, "there are ")
    if home is not None and not where.endswith(f"[{home}]"):
        hint = f"{name} belongs under [{home}]"
    return UsageError(f"{where}: there is no {name!r}", hint)


def _nearest(name: str, known: Collection[str], otherwise: str) -> str:
    near = get_close_matches(name.lower().replace("-", "_"), known, n=1)
    return f"did you mean {near[0]}?" if near else f"{otherwise}{', '.join(known)}"


def _wrong(name: str, value: Any, kind: Any, where: str, least: int | None) -> UsageError:
    choices = _choices(kind)
    near = get_close_matches(value.lower(), choices, n=1) if isinstance(value, str) else []
    if near:
        hint = f'did you mean {name} = "{near[0]}"?'
    elif choices:
        hint = f"write {name} = " + " or ".join(f'"{choice}"' for choice in choices)
    else:
        hint = f"write {name} = {_form(kind)}" + ("" if least is None else f" from {least}")
    return UsageError(f"{where}: {name} cannot be {_shown(value)}", hint)


def _choices(kind: Any) -> tuple[str, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _form(kind: Any) -> str:
    if get_origin(kind) in (Union, types.UnionType):
        kind = get_args(kind)[0]
    if get_origin(kind) is dict:
        return '{ NAME = VALUE }, such as { optimizer = "sgd" }'
    if get_origin(kind) is list:
        return "[VALUE, VALUE], two or more"
    forms = {bool: "true or false", int: "N, a whole number", float: "a number", str: "a text in quotes"}
    return forms.get(kind, "[LOW, HIGH], two numbers")


def _shown(value: Any) -> str:
    """As TOML and people write it, dates and tables included."""
    return json.dumps(value, ensure_ascii=False, default=str)
