from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.store.location import redact_url, store_path


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
    assert redact_url("postgresql://ada@db/runs") == "postgresql://ada@db/runs"
