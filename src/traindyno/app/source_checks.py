"""Sources of data that could only fail later are refused before anything is measured."""

from difflib import get_close_matches
from pathlib import Path

from traindyno.app.loader_workload import MEMORY
from traindyno.core.errors import UsageError

SCHEMES = ("folder", "cifar10", "shards", "memory", "prepared", "digits")
"""Kinds of sources that can be read."""

IN_FILES = ("folder", "cifar10", "prepared")
"""Those whose path must be there; that of shards is a pattern."""

WITHOUT_PATH = ("digits",)
"""Those that are there without one."""


def check_source(source: str, named_by: str, *, is_there: bool, hint: str = "check the path") -> None:
    """Refuse a source of an unknown kind and, where it should be there, one whose path is not.

    `named_by` is the option or file that names it; `hint` is what to do about a path that is not there.
    """
    scheme, colon, path = stored(source).partition(":")
    if not colon or scheme not in SCHEMES:
        raise _unknown(source, named_by)
    if not path and scheme not in WITHOUT_PATH:
        raise UsageError(f"{named_by} names {source}, which lacks what to read", f"write {scheme}:PATH")
    if path and scheme in WITHOUT_PATH:
        raise UsageError(f"{named_by} names {source}, and {scheme}: takes no path", f"write {scheme}: alone")
    if is_there and scheme in IN_FILES and not Path(path).expanduser().exists():
        raise UsageError(f"{named_by} names {source}, and there is no {path}", hint)


def stored(source: str) -> str:
    """What `memory:` holds is stored elsewhere."""
    return stored(source.removeprefix(MEMORY)) if source.startswith(MEMORY) and source != MEMORY else source


def _unknown(source: str, named_by: str) -> UsageError:
    with_path = ", ".join(f"{name}:" for name in SCHEMES if name not in WITHOUT_PATH)
    known = f"{with_path} and then a path, or {', '.join(f'{name}:' for name in WITHOUT_PATH)} alone"
    meant = _meant(stored(source))
    guess = "" if meant is None else f"did you mean {source.removesuffix(stored(source))}{meant}? "
    return UsageError(f"{named_by} names {source!r}, which is no source of data", f"{guess}sources are named {known}")


def _meant(written: str) -> str | None:
    """The source whose name is like it; a path alone may be a folder's."""
    scheme, colon, path = written.partition(":")
    likely = get_close_matches(scheme.lower(), SCHEMES, n=1, cutoff=0.5)
    if likely:
        return f"{likely[0]}:{'' if likely[0] in WITHOUT_PATH else path}"
    return None if colon else f"folder:{written}"
