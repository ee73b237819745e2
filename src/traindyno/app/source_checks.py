"""Sources of data that could only fail later are refused before anything is measured."""

from difflib import get_close_matches
from pathlib import Path

from traindyno.core.errors import UsageError

SCHEMES = ("folder", "cifar10", "shards", "memory", "prepared")
"""Kinds of sources that can be read."""

IN_FILES = ("folder", "cifar10", "prepared")
"""Those whose path must be there; that of shards is a pattern."""

MEMORY = "memory:"


def check_source(source: str, option: str, *, is_there: bool, hint: str = "check the path") -> None:
    """Refuse a source of an unknown kind and, where it should be there, one whose path is not.

    `option` is what named it; `hint` is what to do about a path that is not there.
    """
    scheme, colon, path = _stored(source).partition(":")
    if not colon or scheme not in SCHEMES:
        raise _unknown(source, option)
    if not path:
        raise UsageError(f"{option} {source} lacks what to read", f"write {scheme}:PATH")
    if is_there and scheme in IN_FILES and not Path(path).expanduser().exists():
        raise UsageError(f"there is no {path}, which {option} {source} names", hint)


def _stored(source: str) -> str:
    """What `memory:` holds is stored elsewhere."""
    return _stored(source.removeprefix(MEMORY)) if source.startswith(MEMORY) and source != MEMORY else source


def _unknown(source: str, option: str) -> UsageError:
    known = ", ".join(f"{name}:" for name in SCHEMES)
    meant = _meant(_stored(source))
    guess = "" if meant is None else f"did you mean {source.removesuffix(_stored(source))}{meant}? "
    return UsageError(f"{option} {source} is no source of data", f"{guess}sources are named {known} and then a path")


def _meant(written: str) -> str | None:
    """The source whose name is like it; a path alone may be a folder's."""
    scheme, colon, path = written.partition(":")
    likely = get_close_matches(scheme.lower(), SCHEMES, n=1, cutoff=0.5)
    if likely:
        return f"{likely[0]}:{path}"
    return None if colon else f"folder:{written}"
