"""A database in a file: how it is opened, kept durable, and written in one transaction at a time."""

import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from traindyno.core.errors import TraindynoError
from traindyno.store.database import Database
from traindyno.store.faults import check_place, explained
from traindyno.store.migrations import current_version, migrate, schema_version

BUSY_SECONDS = 30.0
_WRITES = "traindyno_writes"


def open_file(path: Path, create: bool = True) -> Database:
    """The database in a file, which all processes of this machine can share."""
    return file_database(open_database(path, create), path)


def file_database(engine: Engine, path: Path) -> Database:
    """The same on an engine that is open already."""
    return Database(
        reader=engine,
        writer=writing(engine),
        name=str(path),
        folder=path.parent,
        explained=partial(explained, path),
        seconds=lambda _: time.time(),
    )


def open_database(path: Path, create: bool = True) -> Engine:
    """An engine on a database of the present schema, created or migrated if need be."""
    check_place(path, create)
    engine = _engine(path)
    try:
        with explained(path):
            _prepare(engine, path)
    except TraindynoError:
        engine.dispose()
        raise
    return engine


def writing(engine: Engine) -> Engine:
    """The same engine, whose transactions take the write lock when they begin and so cannot fail half-way."""
    return engine.execution_options(**{_WRITES: True})


def _engine(path: Path) -> Engine:
    url = URL.create("sqlite", database=str(path.absolute()))
    # Without an isolation level the driver begins no transactions by itself: `_begin` does.
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: Any, _pool_record: Any) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _prepare(engine: Engine, path: Path) -> None:
    """Look before changing anything: the file may belong to another program or a newer version."""
    with engine.begin() as connection:
        version = schema_version(connection)
    _use_write_ahead_log(engine, path)
    if version != current_version():
        with writing(engine).begin() as connection:
            migrate(connection)


def _use_write_ahead_log(engine: Engine, path: Path) -> None:
    """Switch the file for good; SQLite does not wait by itself while another process opens the file too."""
    raw = engine.raw_connection()
    deadline = time.monotonic() + BUSY_SECONDS
    try:
        while not _switched(raw.driver_connection, deadline):
            time.sleep(0.01)
        (mode,) = raw.driver_connection.execute("PRAGMA journal_mode").fetchone()  # type: ignore[union-attr]
    finally:
        raw.close()
    if mode != "wal":
        raise TraindynoError(
            f"the file system of the store {path} cannot keep a write-ahead log",
            "name a file on a local disk with --store",
        )


def _switched(connection: Any, deadline: float) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
            raise
        return False
    return True
