"""Values as TOML writes them, whatever characters are in them."""

import json
from collections.abc import Mapping
from typing import Any

from traindyno.core.errors import UsageError


def toml_value(value: Any) -> str:
    """One value: a text, a truth, a number, or a list of them.

    TOML escapes what JSON does, and the delete character besides. Python writes floats as TOML does, also nan and inf.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(_encodable(value), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    assert isinstance(value, int | float), f"a {type(value).__name__} has no place in these files"
    return repr(value)


def toml_lines(values: Mapping[str, Any], beside: Mapping[str, str] | None = None) -> list[str]:
    """A line for each value; what is null is left out, for TOML has no null. `beside` are comments by name."""
    lines = []
    for name, value in values.items():
        if value is not None:
            comment = (beside or {}).get(name)
            lines.append(f"{name} = {toml_value(value)}" + (f"  # {comment}" if comment else ""))
    return lines


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{text!r} has bytes that are no text, and a settings file is text", "give the file or folder another name"
        ) from None
    return text
