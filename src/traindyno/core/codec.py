"""Records to JSON text and back, with NaN and infinity kept as what they are."""

import json
import math
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def encode(record: Any) -> str:
    """One line of JSON; NaN and infinity are written as the tokens Python and JavaScript know."""
    return json.dumps(msgspec.to_builtins(record), separators=(",", ":"), sort_keys=True)


def decode(text: str | bytes, kind: type[T]) -> T:
    """Read what `encode` wrote into a record, checking every field."""
    return msgspec.convert(json.loads(text), kind)


def plain(record: Any) -> Any:
    """The record as lists, dictionaries and strings, fit for strict JSON: not-a-number becomes null."""
    return _without_nonfinite(msgspec.to_builtins(record))


def _without_nonfinite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nonfinite(item) for item in value]
    return value
