"""Hyperparameters as people type them: `model=mlp:64,mlp:64x64`, `learning_rate=1e-3..1`, `weight_decay=0`."""

from typing import Any

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.round_fields import ARGUMENT
from traindyno.core.round_kinds import field_kinds, is_whole
from traindyno.core.rounds import Value

_ALIASES = {"lr": "learning_rate"}
_ENDINGS = ("log", "linear")


def parse_choices(text: str, is_own: bool) -> tuple[str, list[Value]]:
    """`model=mlp:64,mlp:64x64`: a field and values to choose from."""
    field, told = _parts(text, is_own, "NAME=VALUE,VALUE")
    return field, [parse_value_of(field, each, is_own) for each in told.split(",")]


def parse_assignment(text: str, is_own: bool) -> tuple[str, Value]:
    """`weight_decay=0`: a field and its value."""
    field, told = _parts(text, is_own, "NAME=VALUE")
    return field, parse_value_of(field, told, is_own)


def parse_searched(text: str, is_own: bool) -> tuple[str, dict[str, Any]]:
    """`learning_rate=1e-3..1`, `width=16..256:log`, `clip_norm=0.5,1`, or a name alone for the usual range.

    The second is the table that a round's file would have.
    """
    if "=" not in text:
        return field_of(text, is_own), {}
    field, told = _parts(text, is_own, "NAME=LOW..HIGH")
    span = _span(told)
    if span is None:
        return field, {"values": [parse_value_of(field, each, is_own) for each in told.split(",")]}
    low, high, scale = span
    whole = is_whole(field, is_own)
    if is_own or field.startswith(ARGUMENT):
        whole = all(isinstance(each, int) for each in (low, high))
    table: dict[str, Any] = {"low": low, "high": high, "integer": True} if whole else {"low": low, "high": high}
    return field, {**table, **({} if scale is None else {"scale": scale})}


def parse_value_of(field: str, text: str, is_own: bool) -> Value:
    """A value in words as the field's kind has it; of the user's own arguments, as a number or truth if it reads so."""
    text, kind = text.strip(), None if is_own else field_kinds().get(field)
    for way in (kind,) if kind is not None else (int, float):
        try:
            value: Value | None = msgspec.convert(text, way, strict=False)
        except msgspec.ValidationError:
            continue
        if value is not None:
            return value
    return {"true": True, "false": False}.get(text.lower(), text)


def _parts(text: str, is_own: bool, form: str) -> tuple[str, str]:
    name, equals, told = (part.strip() for part in text.partition("="))
    if not name or not equals or not told:
        raise UsageError(f"{text!r} gives nothing a value", f"write it as {form}")
    return field_of(name, is_own), told


def field_of(name: str, is_own: bool) -> str:
    """Of the recipe's own fields, dashes may stand for underscores, and `lr` for its long name."""
    return name if is_own or name.startswith(ARGUMENT) else _ALIASES.get(name, name.replace("-", "_"))


def _span(told: str) -> tuple[float, float, str | None] | None:
    """Both ends and the scale, if it was said; nothing where it is no range."""
    ends, _, last = told.rpartition(":")
    scale = last if last in _ENDINGS and ends else None
    low, dots, high = (told if scale is None else ends).partition("..")
    try:
        return (_number(low), _number(high), scale) if dots else None
    except ValueError:
        return None


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)
