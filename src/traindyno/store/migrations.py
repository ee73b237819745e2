"""Brings a database to this version's schema: created if empty, stepped up if older, else refused."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, inspect, select, text, update

from traindyno.core.errors import TraindynoError
from traindyno.store.location import redact_url
from traindyno.store.schema import meta, metadata

Step = Callable[[Connection], None]


def _let_many_pull(connection: Connection) -> None:
    """Who plans for all, and indexes of what waits and of what is held. As text: later changes must not change it."""
    for statement in (
        "ALTER TABLE studies ADD COLUMN planner TEXT",
        "ALTER TABLE studies ADD COLUMN planner_expires FLOAT",
        "CREATE INDEX waiting_trials ON trials (study_id, ordinal) WHERE committed_fence IS NULL AND owner IS NULL",
        "CREATE INDEX held_trials ON trials (study_id, expires) WHERE owner IS NOT NULL",
    ):
        connection.execute(text(statement))


STEPS: tuple[Step, ...] = (_let_many_pull,)
"""The step at position n brings schema n + 1 to schema n + 2."""

OTHER_STORE_HINT = "name another file or database with --store"


def schema_version(connection: Connection, steps: Sequence[Step] = STEPS) -> int | None:
    """The database's schema version, null when the database is empty. What cannot be used is refused."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    version = _recorded_version(connection) if meta.name in tables else None
    if version is None:
        raise TraindynoError(f"{_place(connection)} is a database of some other program", OTHER_STORE_HINT)
    newest = current_version(steps)
    if version > newest:
        raise TraindynoError(
            f"{_place(connection)} is from a newer traindyno (schema {version}, this one knows {newest})",
            f"upgrade with `pip install --upgrade traindyno`, or {OTHER_STORE_HINT}",
        )
    return version


def migrate(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Create or step up the schema, inside the caller's transaction: all of it happens, or none."""
    version = schema_version(connection, steps)
    if version is None:
        metadata.create_all(connection)
        entries = {"application": "traindyno", "schema_version": str(current_version(steps))}
        connection.execute(insert(meta), [{"key": key, "value": value} for key, value in entries.items()])
        return
    for step in steps[version - 1 :]:
        step(connection)
    stored = update(meta).where(meta.c.key == "schema_version")
    connection.execute(stored.values(value=str(current_version(steps))))


def current_version(steps: Sequence[Step] = STEPS) -> int:
    return 1 + len(steps)


def _place(connection: Connection) -> str:
    url = connection.engine.url
    is_file = url.get_backend_name() == "sqlite"
    return f"the store {url.database if is_file else redact_url(url.render_as_string())}"


def _recorded_version(connection: Connection) -> int | None:
    columns = {column["name"] for column in inspect(connection).get_columns(meta.name)}
    if not {"key", "value"} <= columns:
        return None
    entries = {str(key): str(value) for key, value in connection.execute(select(meta.c.key, meta.c.value))}
    version = entries.get("schema_version", "")
    known = entries.get("application") == "traindyno" and version.isdecimal() and int(version) > 0
    return int(version) if known else None
