"""Knobs of a run as people write them: `memory_format=channels_last`, and back."""

import types
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings

WITH_OPTIONS: Mapping[str, str] = types.MappingProxyType(
    {
        "batch_size": "--batch-size",
        "precision": "--precision",
        "device": "--device",
        "num_workers": "--workers",
        "prefetch_factor": "--prefetch-factor",
        "pin_memory": "--pin-memory",
        "decoder": "--decoder",
        "devices": "--devices",
    }
)
"""Settings that have an option of their own; all others are set by `NAME=VALUE`."""

WHERE_DEVICES = (
    "`traindyno scale --devices 1,2` measures their speed, `traindyno target --contender devices=2` their time to a "
    "target, and `traindyno train --devices 2` trains on them"
)
"""Who takes a number of devices, for all who do not."""

KNOBS = tuple(name for name in Settings.__struct_fields__ if name not in WITH_OPTIONS)
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_knobs(texts: Iterable[str]) -> dict[str, Any]:
    """Read `NAME=VALUE` texts into fields of `Settings`; a mistake is answered with the choices there are."""
    knobs: dict[str, Any] = {}
    for text in texts:
        name, value = parse_knob(text)
        if name in knobs:
            raise UsageError(f"{name} is set twice", "set it once")
        knobs[name] = value
    return knobs


def parse_knob(text: str) -> tuple[str, Any]:
    """Read one `NAME=VALUE`; dashes in a name may stand for its underscores."""
    written, equals, value = (part.strip() for part in text.partition("="))
    name = _name(written)
    if not equals or not value:
        raise UsageError(f"{text!r} gives {name} no value", f"write {name}={_choices(name)}")
    return name, parse_value(name, value)


def parse_value(name: str, text: str) -> Any:
    """Read the value of any setting; a mistake is answered with the choices there are."""
    kind, word = _kinds()[name], text.lower()
    if kind is bool and word in _TRUTHS:
        return _TRUTHS[word]
    if get_origin(kind) is Literal and word.replace("_", "-") in _same_dashes(kind):
        return _same_dashes(kind)[word.replace("_", "-")]
    if _is_number(kind) and word.isascii() and word.isdigit() and int(word) >= _least(name):
        return int(word)
    raise UsageError(f"{name} cannot be {text!r}", f"write {name}={_choices(name)}")


def format_knobs(settings: Settings) -> list[str]:
    """The knobs that are not at their defaults, as `parse_knobs` reads them."""
    plain = Settings(batch_size=settings.batch_size)
    changed = [(name, getattr(settings, name)) for name in KNOBS if getattr(settings, name) != getattr(plain, name)]
    return [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in changed]


def _name(written: str) -> str:
    name = written.lower().replace("-", "_")
    if name in KNOBS:
        return name
    if name == "devices":
        raise UsageError("how many devices share a batch is no setting of every command", WHERE_DEVICES)
    if name in WITH_OPTIONS:
        raise UsageError(f"{name} has an option of its own", f"write {WITH_OPTIONS[name]}")
    near = get_close_matches(name, KNOBS, n=1)
    known = f"did you mean {near[0]}?" if near else f"there are {', '.join(KNOBS)}"
    raise UsageError(f"there is no setting {written!r}", known)


def _choices(name: str) -> str:
    """`none|default|reduce-overhead`, or what else the value may be."""
    kind = _kinds()[name]
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return "true|false" if kind is bool else f"N, a whole number from {_least(name)}"


def _least(name: str) -> int:
    return 0 if name == "num_workers" else 1


def _same_dashes(kind: Any) -> dict[str, str]:
    return {choice.replace("_", "-"): choice for choice in get_args(kind)}


def _is_number(kind: Any) -> bool:
    return kind is int or int in get_args(kind)


def _kinds() -> dict[str, Any]:
    return get_type_hints(Settings)
