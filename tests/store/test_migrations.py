import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from traindyno.core.errors import TraindynoError
from traindyno.store.connection import open_database, writing
from traindyno.store.migrations import STEPS, current_version, migrate, schema_version


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_database(tmp_path / "traindyno.db")
    yield engine
    engine.dispose()


def _add_colour(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE studies ADD COLUMN colour TEXT"))


def _fill_colour(connection: Connection) -> None:
    connection.execute(text("UPDATE studies SET colour = 'green'"))


def _break(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE studies ADD COLUMN taste TEXT"))
    raise ZeroDivisionError


def test_a_new_database_has_the_present_schema(engine: Engine) -> None:
    with engine.begin() as connection:
        assert schema_version(connection) == current_version() == 2


def test_a_database_of_the_first_schema_becomes_like_a_new_one(engine: Engine, tmp_path: Path) -> None:
    old = Path(shutil.copy(Path(__file__).parent / "fixtures" / "schema_1.sqlite", tmp_path / "old.db"))
    migrated = open_database(old)
    assert _described(migrated) == _described(engine)
    migrated.dispose()


def _described(engine: Engine) -> dict[str, tuple[dict[str, str], list[object]]]:
    """Every table's columns with their types, and its indexes with what they are of."""
    tables = inspect(engine)
    return {
        name: (
            {column["name"]: str(column["type"]) for column in tables.get_columns(name)},
            sorted((str(index["name"]), index["column_names"]) for index in tables.get_indexes(name)),
        )
        for name in tables.get_table_names()
    }


def test_an_empty_database_has_no_schema(tmp_path: Path) -> None:
    with create_engine(f"sqlite:///{tmp_path}/empty.db").begin() as connection:
        assert schema_version(connection) is None


def test_an_older_schema_takes_every_missing_step_in_order(engine: Engine) -> None:
    steps = (*STEPS, _add_colour, _fill_colour)
    with writing(engine).begin() as connection:
        migrate(connection, steps)
        assert schema_version(connection, steps) == 4
        assert list(connection.execute(text("SELECT colour FROM studies"))) == []
        migrate(connection, steps)


def test_a_failed_migration_leaves_the_database_as_it_was(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError), writing(engine).begin() as connection:
        migrate(connection, (*STEPS, _add_colour, _break))
    with engine.begin() as connection:
        assert schema_version(connection) == 2
        columns = {row[1] for row in connection.execute(text("PRAGMA table_info(studies)"))}
    assert columns.isdisjoint({"colour", "taste"})


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    open_database(path).dispose()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE meta SET value = '7' WHERE key = 'schema_version'")
    raw.close()
    with pytest.raises(TraindynoError, match=r"newer traindyno \(schema 7, this one knows 2\)") as refusal:
        open_database(path)
    assert "pip install --upgrade traindyno" in str(refusal.value.hint)


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE trials (id INTEGER)",
        "CREATE TABLE meta (name TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('schema_version', '1')",
    ],
)
def test_the_database_of_another_program_is_refused_and_not_touched(tmp_path: Path, script: str) -> None:
    path = tmp_path / "other.db"
    raw = sqlite3.connect(path)
    raw.executescript(script)
    raw.close()
    before = path.read_bytes()
    with pytest.raises(TraindynoError, match="other program") as refusal:
        open_database(path)
    assert "--store" in str(refusal.value.hint)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.db"]
