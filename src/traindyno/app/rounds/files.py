"""Rounds' files on disk: read and checked as a whole, and never written over in silence."""

import os
from collections.abc import Mapping
from pathlib import Path

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.round_file import format_round, parse_round
from traindyno.core.rounds import Round


def read_round(path: str | os.PathLike[str]) -> Round:
    """The round that a file describes."""
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}", f"write one with `traindyno round new {name}`") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"the round's file {name} cannot be read: {reason}", "check the path") from None
    return parse_round(text, name)


def write_round(
    path: str | os.PathLike[str], round_: Round, comments: Mapping[str, str] | None = None, *, force: bool = False
) -> str:
    """Write the round's file and return its text. A file that is there is kept, unless `force` says otherwise."""
    text = format_round(round_, comments)
    check_free(path, force=force)
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise TraindynoError(f"{os.fspath(path)} cannot be written: {error.strerror}", "name another file") from None
    return text


def check_free(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse a place where no file can be written, before anything is asked or worked out for it."""
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{place} is a folder", f"name a file in it, such as {place / 'round.toml'}")
    if not place.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {place.parent}", "make it first, or name another file")
    if place.exists() and not force:
        raise _taken(path)


def _taken(path: str | os.PathLike[str]) -> UsageError:
    return UsageError(f"{os.fspath(path)} is there already", "name another file, or add --force to write over it")
