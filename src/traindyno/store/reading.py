"""A store that may be read but not written, as a colleague's: it is looked at in a copy in memory."""

import sqlite3
import time
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Engine, StaticPool, create_engine

from traindyno.core.errors import TraindynoError
from traindyno.store.connection import BUSY_SECONDS, open_file
from traindyno.store.database import Database
from traindyno.store.faults import check_readable, explained, log_unreadable, may_write
from traindyno.store.migrations import current_version, migrate, schema_version

ATTEMPTS = 20
UNREADABLE = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
"""How SQLite calls it if it would have to write beside a log to read it."""


def open_file_to_read(path: Path) -> Database:
    """The database in a file; where it may not be written, what is in it now. Writing to that is refused."""
    check_readable(path)
    if may_write(path):
        return open_file(path, create=False)
    with explained(path):
        engine = _engine_on_copy(path)
    return Database(
        reader=engine,
        writer=engine,
        name=str(path),
        folder=path.parent,
        explained=partial(explained, path),
        seconds=lambda _: time.time(),
    )


def _engine_on_copy(path: Path) -> Engine:
    """A copy can be stepped up to the present schema, too. What was written to it would be lost: that is refused."""
    # SQLite keeps the log beside the file itself, not beside a link to it.
    copy = _copy_of(path.resolve())
    url = URL.create("sqlite", database=str(path.absolute()))
    engine = create_engine(url, creator=lambda: copy, poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            if schema_version(connection) != current_version():
                migrate(connection)
    except TraindynoError:
        engine.dispose()
        raise
    copy.execute("PRAGMA query_only = ON")
    return engine


def _copy_of(path: Path) -> sqlite3.Connection:
    """The whole file at one moment. While its owner writes, it is looked at anew until it stays as it is."""
    for _ in range(ATTEMPTS):
        before = _state(path)
        has_log, *_ = before
        try:
            copy = _copied(path, has_log=has_log)
        except sqlite3.DatabaseError:
            # It may even look damaged while it changes.
            if _state(path) == before:
                raise
            continue
        if has_log or _state(path) == before:
            return copy
        copy.close()
    raise TraindynoError(f"the store {path} is being written to all the time", "try again in a moment")


def _state(path: Path) -> tuple[bool, int, int, int]:
    """Whether a write-ahead log lies beside the file, and what changes with its content."""
    state = path.stat()
    return _log(path).exists(), state.st_mtime_ns, state.st_size, state.st_ino


def _copied(path: Path, *, has_log: bool) -> sqlite3.Connection:
    """With a log, the locks of those who write are respected and its newest pages read.

    Without one, SQLite would have to create it: that is impossible in a folder that cannot be written, and in any other
    it would stay behind in the reader's name and keep the owner from writing. A file that is called immutable needs no
    log, but then no lock is taken, and what changes meanwhile is read wrongly. So only `_copy_of` may do so: it looks
    afterwards whether anything has changed.
    """
    flags = "mode=ro" if has_log else "mode=ro&immutable=1"
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    source = sqlite3.connect(f"{path.as_uri()}?{flags}", uri=True, timeout=BUSY_SECONDS)
    try:
        source.backup(copy)
    except sqlite3.DatabaseError as error:
        copy.close()
        if has_log and error.sqlite_errorname.startswith(UNREADABLE) and _log(path).exists():
            raise log_unreadable(path) from error
        raise
    finally:
        source.close()
    return copy


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
