"""Values as TOML writes them, whatever characters are in them."""

import json
import string
from collections.abc import Mapping
from typing import Any

from traindyno.core.errors import UsageError

BARE = frozenset(string.ascii_letters + string.digits + "_-")


def toml_value(value: Any) -> str:
    """One value: a text, a truth, a number, a list of them, or a table of them by name.

    TOML escapes what JSON does, and the delete character besides. Python writes floats as TOML does, also nan and inf.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(_encodable(value), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_key(name)} = {toml_value(each)}' for name, each in value.items())}}}"
    assert isinstance(value, int | float), f"a {type(value).__name__} has no place in these files"
    return repr(value)


def toml_key(name: str) -> str:
    """A name as it stands before `=`: bare where it may, else in quotes."""
    return name if name and all(each in BARE for each in name) else toml_value(name)


def toml_lines(values: Mapping[str, Any], beside: Mapping[str, str] | None = None) -> list[str]:
    """A line for each value; what is null or an empty table is left out. `beside` are comments by name."""
    lines = []
    for name, value in values.items():
        if value is not None and value != {}:
            comment = (beside or {}).get(name)
            lines.append(f"{toml_key(name)} = {toml_value(value)}" + (f"  # {comment}" if comment else ""))
    return lines


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{text!r} has bytes that are no text, and a settings file is text", "give the file or folder another name"
        ) from None
    return text
