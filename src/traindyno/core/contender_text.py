"""Ways to train as people write them: `large: batch_size=256,precision=bf16,lr=0.2`, and back.

One without a name is called by its settings: `devices=2`.
"""

import math
from difflib import get_close_matches
from typing import Any

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.requests import Contender
from traindyno.core.settings_text import parse_value

RATE = "lr"
_HINT = "write it as NAME: batch_size=256,precision=bf16,lr=0.2, or without NAME and colon"
_SHORT = {"batch": "batch_size"}
_NAMES = (RATE, *(name for name in Settings.__struct_fields__ if name != "device"))


def parse_contender(text: str, settings: Settings) -> Contender:
    """Read one; what it does not say is as in `settings`, and its rate by the rule."""
    label, colon, told = (part.strip() for part in text.partition(":"))
    told = told if colon else label
    if not label or not told:
        raise UsageError(f"{text!r} is no way to train with settings, or has an empty name", _HINT)
    changes: dict[str, Any] = {}
    for part in told.split(","):
        name, value = _setting(part)
        if name in changes:
            raise UsageError(f"{label} sets {name} twice", "set it once")
        changes[name] = value
    rate = changes.pop(RATE, None)
    return Contender(label=label, settings=msgspec.structs.replace(settings, **changes), learning_rate=rate)


def format_contender(contender: Contender, settings: Settings) -> str:
    """As `parse_contender` reads it beside the same settings."""
    names = [name for name in _NAMES if name != RATE]
    changed = [(name, getattr(contender.settings, name)) for name in names]
    parts = [f"{name}={_written(value)}" for name, value in changed if value != getattr(settings, name)]
    parts += [] if contender.learning_rate is None else [f"{RATE}={contender.learning_rate:.12g}"]
    told = ",".join(parts) or f"batch_size={contender.settings.batch_size}"
    return told if told == contender.label else f"{contender.label}: {told}"


def _setting(part: str) -> tuple[str, Any]:
    written, equals, value = (each.strip() for each in part.partition("="))
    name = written.lower().replace("-", "_")
    name = _SHORT.get(name, name)
    if name not in _NAMES:
        near = get_close_matches(name, _NAMES, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(_NAMES)}"
        raise UsageError(f"there is no setting {written!r} of a way to train", known)
    if not equals or not value:
        raise UsageError(f"{part.strip()!r} gives {name} no value", _HINT)
    return name, _rate(value) if name == RATE else parse_value(name, value)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate < math.inf:
        raise UsageError(f"{text!r} is no learning rate", "write it as lr=0.2")
    return rate


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
