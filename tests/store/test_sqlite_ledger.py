"""The contract on SQLite, and what only SQLite promises: durable settings, processes that are seen to die."""

import multiprocessing
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from store.ledger_contract import LedgerContract
from store.samples import MACHINE, REQUEST, FakeClock, measured, spec_of
from traindyno.core.errors import TraindynoError
from traindyno.store.connection import open_database
from traindyno.store.ledger import Ledger, owner_here

FORK = multiprocessing.get_context("fork")


class TestSqliteLedger(LedgerContract):
    def open_ledger(self, place: Path, clock: FakeClock) -> Ledger:
        return Ledger.open(str(place / "traindyno.db"), clock=clock)


def test_the_database_is_durable_and_checks_references(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "traindyno.db")
    with engine.connect() as connection:
        found = {
            name: connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_a_url_and_a_path_name_the_same_store(tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path}/a.db") as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
    with Ledger.open(str(tmp_path / "a.db"), create=False) as ledger:
        assert ledger.study("here").request == REQUEST


def test_closing_leaves_one_file_behind(tmp_path: Path) -> None:
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        ledger.create_study("here", "plan", REQUEST, MACHINE)
    assert [path.name for path in tmp_path.iterdir()] == ["traindyno.db"]


def _claim_and_die(store: str) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.claim_study("here", owner_here(), 3600)
        ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), owner_here(), 3600)


def test_what_a_dead_process_held_is_free_at_once(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    with Ledger.open(store) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
    child = FORK.Process(target=_claim_and_die, args=(store,))
    child.start()
    child.join()
    with Ledger.open(store) as ledger:
        left = ledger.study("here")
        assert left.owner is not None
        assert left.state == "interrupted"
        assert ledger.claim_study("here", owner_here(), 60).state == "running"
        lease = ledger.lease(ledger.enqueue(left.id, spec_of(1), 0), owner_here(), 60)
        assert lease is not None
        ledger.commit(lease, measured(spec_of(1)))


def test_what_a_living_process_holds_is_refused(tmp_path: Path) -> None:
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
        ledger.claim_study("here", owner_here(), 3600)
        with pytest.raises(TraindynoError, match=r"being run by process \d+ on "):
            ledger.claim_study("here", "someone:else:1:2.00", 60)
        assert ledger.claim_study("here", owner_here(), 3600).owner == owner_here()


def test_a_result_written_by_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    with Ledger.open(str(path)) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
    with sqlite3.connect(path) as raw:
        raw.execute("""UPDATE studies SET request = '{"command":"divine"}'""")
    raw.close()
    with (
        Ledger.open(str(path)) as ledger,
        pytest.raises(TraindynoError, match="study 'here' cannot be read") as e,
    ):
        ledger.study("here")
    assert "upgrade" in str(e.value.hint)


def _open_when_told(store: str, start: "multiprocessing.synchronize.Barrier") -> None:
    start.wait()
    with Ledger.open(store) as ledger:
        ledger.create_study(None, "plan", REQUEST, None)


def test_processes_that_open_a_new_store_at_once_all_succeed(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    for round_ in range(3):
        start = FORK.Barrier(6)
        children = [FORK.Process(target=_open_when_told, args=(f"{store}{round_}", start)) for _ in range(6)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 6
        with Ledger.open(f"{store}{round_}") as ledger:
            assert len(ledger.studies()) == 6


def test_opening_waits_while_another_process_prepares_the_file(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    end = threading.Timer(0.2, other.execute, args=("ROLLBACK",))
    end.start()
    with Ledger.open(str(path)) as ledger:
        assert ledger.studies() == []
    end.join()
    other.close()
