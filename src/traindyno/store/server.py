"""A database on a PostgreSQL server, shared by processes of many machines.

Writers lock the row of the study or the trial that they are about, so that what they have read stays true until they
have written; those of other studies and trials do not wait for each other. Serializable transactions would need no
locks, but every commit of a trial also marks its study, and so most of them would have to be repeated.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.store.database import Database
from traindyno.store.location import FORMS_HINT, redact_url, server_address
from traindyno.store.migrations import current_version, migrate, schema_version
from traindyno.store.server_faults import explained

PATIENCE_SECONDS = 120.0
"""A server that is restarted is back before; leases of the runs at hand last about as long."""
LOCK_SECONDS = 30
IDLE_SECONDS = 60
"""Who stops in the middle of a transaction, with its machine or its network, keeps others waiting no longer."""
MOST_CONNECTIONS = 16
"""Of one process, in as many threads; it has one, unless several of its threads are at the ledger at once."""
MIGRATION_LOCK = 0x7261696E64796E6F
"""Any number that other programs on the server are unlikely to lock."""
LIMITS: Mapping[str, int | str | None] = {
    "application_name": "traindyno",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    # Statements that a server prepares are of no use behind a pool of connections, and cost little time here.
    "prepare_threshold": None,
    # A database without an encoding of its own would else answer in bytes.
    "client_encoding": "utf8",
}
SETTINGS = f"""
SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', false),
    set_config('idle_in_transaction_session_timeout', '{IDLE_SECONDS}s', false),
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
    THEN set_config('synchronous_commit', 'on', false) END
"""


def open_server(store: str) -> Database:
    """The database that a URL names, with the present schema, created or migrated if need be."""
    url = _url(store)
    engine, name = _engine(url), redact_url(store)
    meaning = partial(explained, name, url.password)
    try:
        with meaning():
            _prepare(engine)
    except BaseException:
        engine.dispose()
        raise
    return Database(
        # What several statements read is of one moment, as in a file.
        reader=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
        writer=engine,
        name=name,
        folder=Path(),
        explained=meaning,
        seconds=server_seconds,
        patience_seconds=PATIENCE_SECONDS,
        of_one_machine=False,
    )


def server_seconds(connection: Connection) -> float:
    """The server's own time: leases of all machines expire by one clock."""
    return float(connection.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)


def _url(store: str) -> URL:
    try:
        url = make_url(f"postgresql+psycopg://{server_address(store)}")
    except (ArgumentError, ValueError):
        raise UsageError(f"{redact_url(store)!r} is not the URL of a database", FORMS_HINT) from None
    if not url.database:
        raise UsageError(f"{redact_url(store)!r} names no database on the server", FORMS_HINT)
    return url


def _engine(url: URL) -> Engine:
    limits = {name: value for name, value in LIMITS.items() if name not in url.query}
    try:
        engine = create_engine(
            url, connect_args=limits, pool_size=1, max_overflow=MOST_CONNECTIONS - 1, pool_pre_ping=True
        )
    except ImportError:
        raise TraindynoError(
            "a store on a PostgreSQL server needs the package psycopg, which is not installed",
            'pip install "traindyno[postgres]"',
        ) from None
    event.listen(engine, "connect", _configure)
    return engine


def _configure(connection: Any, _pool_record: Any) -> None:
    """Commits wait until they are on disk; a server that promises more keeps its promise."""
    with connection.cursor() as cursor:
        cursor.execute(SETTINGS)
    connection.commit()


def _prepare(engine: Engine) -> None:
    with engine.begin() as connection:
        version = schema_version(connection)
    if version != current_version():
        with engine.begin() as connection:
            connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            migrate(connection)
