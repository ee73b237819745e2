from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.store.location import is_server, may_exist, redact_url, store_folder, store_path, typed_url


@pytest.mark.parametrize(
    ("store", "path"),
    [
        ("traindyno.db", "traindyno.db"),
        ("/data/runs.db", "/data/runs.db"),
        ("sqlite:///runs/a.db", "runs/a.db"),
        ("sqlite:////data/a b.db", "/data/a b.db"),
        ("strange?name%20.db", "strange?name%20.db"),
    ],
)
def test_a_path_or_an_sqlite_url_names_a_file(store: str, path: str) -> None:
    assert store_path(store) == Path(path)


def test_the_home_folder_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert store_path("~/runs.db") == Path("/home/ada/runs.db")


@pytest.mark.parametrize(
    "store",
    [
        "",
        ":memory:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:runs.db",
        "sqlite://host/runs.db",
        "sqlite:///runs.db?mode=ro",
        "sqlite+aiosqlite:///runs.db",
        "mysql://host/db",
        "runs\0.db",
    ],
)
def test_anything_else_is_refused_with_the_right_forms(store: str) -> None:
    with pytest.raises(UsageError) as refusal:
        store_path(store)
    assert "sqlite:///path/to/traindyno.db" in str(refusal.value.hint)


@pytest.mark.parametrize(
    "store",
    [
        "postgresql://ada:hunter2@db/runs",
        "postgresql+psycopg://ada:hunter2@db:5432/runs?sslmode=require",
        "postgresql://:hunter2@db/runs",
        "postgresql://ada:p@hunter2@db/runs",
        "postgresql://ada:p/hunter2@db/runs",
        "postgresql://ada:hunter2/db",
        "postgresql://ada:hunter2?host=db",
        "postgresql://ada@db/runs?password=hunter2&x=1",
        "host=db password=hunter2 user=ada",
    ],
)
def test_a_refused_database_never_shows_its_password(store: str) -> None:
    with pytest.raises(UsageError) as refusal:
        store_path(store)
    assert "hunter2" not in f"{refusal.value.message} {refusal.value.hint}"
    assert "***" in refusal.value.message
    assert "db" in refusal.value.message


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1).map(lambda t: f"<{t}>"))
def test_no_password_survives_redaction(password: str) -> None:
    assert redact_url(f"postgresql://ada:{password}@db/runs") == "postgresql://ada:***@db/runs"


def test_a_url_without_a_password_is_left_alone() -> None:
    assert redact_url("sqlite:////data/runs.db") == "sqlite:////data/runs.db"
    for store in ("ada@db/runs", "db:5432/runs", "ada@[::1]:5432/runs", "[::1]:5432/runs", "a:5432,b:5433/runs"):
        assert redact_url(f"postgresql://{store}") == f"postgresql://{store}"


def test_a_database_on_a_server_is_known_by_its_url() -> None:
    assert is_server("postgresql+psycopg://ada@db/runs")
    assert is_server("postgres://db/runs")
    assert not any(map(is_server, ("traindyno.db", "postgresql.db", "sqlite:///postgresql://x", "mysql://db/runs")))


def test_what_lies_beside_a_store_lies_here_if_that_is_on_a_server(tmp_path: Path) -> None:
    assert store_folder("postgresql://db/runs") == Path()
    assert store_folder(f"{tmp_path}/runs.db") == tmp_path
    assert may_exist("postgresql://db/runs")
    assert not may_exist(f"{tmp_path}/runs.db")


@pytest.mark.parametrize(
    ("store", "typed"),
    [
        ("postgresql://ada:hunter2@db/runs", "postgresql://ada@db/runs"),
        ("postgresql://ada:p@hunter2@db/runs", "postgresql://ada@db/runs"),
        ("postgresql://db/runs?password=hunter2", "postgresql://db/runs"),
        ("postgresql://db/runs?password=hunter2&sslmode=require", "postgresql://db/runs?sslmode=require"),
        ("postgresql://db/runs?sslmode=require&sslpassword=hunter2", "postgresql://db/runs?sslmode=require"),
        ("postgresql://ada@db:5432/runs", "postgresql://ada@db:5432/runs"),
        ("postgresql://db/runs?passfile=/etc/pg&password=hunter2", "postgresql://db/runs?passfile=/etc/pg"),
        ("/data/my runs.db", "/data/my runs.db"),
    ],
)
def test_a_store_to_type_again_has_no_password(store: str, typed: str) -> None:
    assert typed_url(store) == typed
