"""`traindyno.toml` in the current folder: defaults for options, for all commands or for one.

Keys are option names without dashes in front. Those at the top hold for every command that has the option; a table
named after a command, `[loader]` or `["data make"]`, holds for that command alone. The command line wins over both.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from traindyno.core.errors import UsageError

PROJECT_FILE = "traindyno.toml"
# Here `--model` is the user's word that code may run again; a file cannot give it.
NAMES_CODE_AGAIN = ("resume", "verify", "agent", "join")
# What a key at the top means elsewhere is not what it means here: the classes of a model, and those of a set; the data
# and the time of a study, and what replaces those of a file or of a study that has its own; to take what is proposed,
# and to delete what is named.
MEANT_OTHERWISE = {
    "data make": ("classes",),
    "verify": ("data",),
    "resume": ("time-budget",),
    "studies delete": ("yes",),
}


def default_map(command: click.Command, name: str, known_commands: Collection[str]) -> dict[str, Any]:
    """The file's values for the command of this name, by parameter name."""
    content = _read(Path(PROJECT_FILE))
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for table in tables:
        if table not in known_commands:
            raise UsageError(f"{PROJECT_FILE} has a table [{table}], which is no command", _tables(known_commands))
    options = {option.lstrip("-"): parameter for parameter in command.params for option in parameter.opts}
    own = tables.get(name, {})
    for key in own:
        if key not in options:
            raise UsageError(f"{PROJECT_FILE}: [{name}] has no option {key!r}", f"see `traindyno {name} --help`")
    shared = {key: value for key, value in content.items() if key not in (*tables, *MEANT_OTHERWISE.get(name, ()))}
    chosen = {key: value for key, value in {**shared, **own}.items() if key in options}
    if name in NAMES_CODE_AGAIN:
        chosen.pop("model", None)
    return {options[key].name or key: _value(options[key], value) for key, value in chosen.items()}


def top_level(key: str) -> Any:
    """One of the values that hold for every command; null where there is none."""
    return _read(Path(PROJECT_FILE)).get(key)


def unknown_keys(known_options: set[str]) -> list[str]:
    """Top-level keys that no command has an option for."""
    content = _read(Path(PROJECT_FILE))
    return [key for key, value in content.items() if not isinstance(value, dict) and key not in known_options]


def _value(parameter: click.Parameter, value: Any) -> Any:
    """Sizes and shares may be written as numbers or lists; click reads them as text."""
    if parameter.multiple:
        return value if isinstance(value, list) else [value]
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", "mend the file, or move it away") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "mend its permissions") from None


def _tables(known: Collection[str]) -> str:
    """The names as TOML has them: quoted where they have two words."""
    return "tables may be " + ", ".join(f'["{name}"]' if " " in name else f"[{name}]" for name in known)
