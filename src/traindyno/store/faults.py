"""What went wrong with the database file, in words, with the way to mend it."""

import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from traindyno.core.errors import TraindynoError

ALMOST_FULL_BYTES = 256 * 1024
WRITABLE_HINT = "choose a file in a folder you may write to with --store, or change the permissions of both"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the database's own errors into ones a user can act on; a fault of ours passes unchanged."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        explanation = _explanation(path, getattr(cause, "sqlite_errorname", ""), str(cause))
        if explanation is None:
            raise
        raise explanation from error


def check_place(path: Path, create: bool) -> None:
    """Refuse a path at which no database can be kept, before anything is opened."""
    _check_kind(path, create)
    if not may_write(path):
        raise _read_only(path)


def check_readable(path: Path) -> None:
    """Refuse a path at which there is no database to read."""
    _check_kind(path, create=False)
    if not os.access(path, os.R_OK):
        raise _unreadable(path)


def may_write(path: Path) -> bool:
    """Whether a database can be kept at a path: SQLite writes beside the file, too, where a link leads to."""
    file = path.resolve()
    return os.access(file.parent, os.W_OK) and (not os.path.exists(file) or os.access(file, os.R_OK | os.W_OK))


def log_unreadable(path: Path) -> TraindynoError:
    """The file that shares it between processes was not copied along, or may not be read."""
    return TraindynoError(
        f"the store {path} has a write-ahead log beside it that cannot be read where nothing can be written",
        f"copy both, `cp {_typed(path)} {_typed(Path(f'{path}-wal'))} FOLDER`, and name the copy with --store",
    )


def _check_kind(path: Path, create: bool) -> None:
    exists = _exists(path)
    if os.path.isdir(path):
        remedy = f"name a file in it: --store {_typed(path / 'traindyno.db')}"
        raise TraindynoError(f"the store {path} is a folder", remedy)
    if exists and not os.path.isfile(path):
        raise TraindynoError(f"the store {path} is not an ordinary file", "name another file with --store")
    if not os.path.isdir(path.parent):
        remedy = f"create it: mkdir -p {_typed(path.parent)}"
        raise TraindynoError(f"the folder of the store {path} does not exist", remedy)
    if not create and not exists:
        raise TraindynoError(f"there is no store at {path}", "name one with --store, or measure first")


def _exists(path: Path) -> bool:
    """Whether anything is there; in a folder that may not be entered nobody knows."""
    try:
        path.stat()
    except PermissionError:
        raise _unreadable(path) from None
    except OSError:
        return False
    return True


def _unreadable(path: Path) -> TraindynoError:
    return TraindynoError(
        f"the store {path} may not be read", "ask its owner for the right to, or name another file with --store"
    )


def _explanation(path: Path, code: str, text: str) -> TraindynoError | None:
    """`code` is SQLite's name of the error, such as SQLITE_IOERR_WRITE; the second word is its family."""
    family = code.split("_")[1] if "_" in code else ""
    match family:
        case "FULL":
            return _full(path)
        case "IOERR":
            return _full(path) if _almost_full(path) else _unreliable(path, text)
        case "READONLY" | "PERM":
            return _read_only(path)
        case "CANTOPEN":
            return TraindynoError(f"the store {path} can be neither opened nor created", WRITABLE_HINT)
        case "NOTADB":
            return TraindynoError(
                f"the store {path} is not a database",
                f"name another file with --store, or move it away: {_aside(path)}",
            )
        case "CORRUPT":
            return TraindynoError(
                f"the store {path} is damaged ({text})",
                f"rescue what is left with `sqlite3 {_typed(path)} .recover`, or start anew: {_aside(path)}",
            )
        case "BUSY" | "LOCKED" | "PROTOCOL":
            return TraindynoError(
                f"the store {path} is locked by another process",
                f"find it with `fuser {_typed(path)}`, wait for it or end it, and try again",
            )
    return None


def _full(path: Path) -> TraindynoError:
    return TraindynoError(
        f"no space is left for the store {path}",
        f"free some (`df -h {_typed(path.parent)}`), then resume: all committed trials are kept",
    )


def _read_only(path: Path) -> TraindynoError:
    return TraindynoError(f"the store {path} cannot be written: it or its folder is read-only", WRITABLE_HINT)


def _unreliable(path: Path, text: str) -> TraindynoError:
    return TraindynoError(
        f"reading or writing the store {path} failed ({text})",
        "check the disk and the system log, or keep the store on a local disk with --store",
    )


def _almost_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < ALMOST_FULL_BYTES
    except OSError:
        return False


def _aside(path: Path) -> str:
    return f"mv {_typed(path)} {_typed(Path(f'{path}.old'))}"


def _typed(path: Path) -> str:
    """The path as it must be typed into a shell."""
    return shlex.quote(str(path))
