"""The contracts on SQLite, and what only SQLite promises: durable settings, one file, one machine."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from store.ledger_contract import LedgerContract
from store.open_ledger import InFile
from store.processes_contract import ProcessesContract
from store.pulling_contract import PullingContract
from store.samples import MACHINE, REQUEST, spec_of
from store.sharing_contract import SharingContract
from traindyno.core.errors import TraindynoError
from traindyno.store.connection import open_database
from traindyno.store.ledger import Ledger, owner_here


class TestSqliteLedger(InFile, LedgerContract):
    pass


class TestSqliteSharing(InFile, SharingContract):
    pass


class TestSqlitePulling(InFile, PullingContract):
    pass


class TestSqliteProcesses(InFile, ProcessesContract):
    pass


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


ELSEWHERE = "gpu-box/4026531836/another-machine:7:1.00"


@pytest.mark.parametrize("hold", ["study", "trial"])
def test_a_file_in_use_by_another_machine_is_refused_with_the_way_to_share(tmp_path: Path, hold: str) -> None:
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        study = ledger.create_study("there", "plan", REQUEST, None)
        ledger.create_study("here", "plan", REQUEST, None)
        if hold == "study":
            ledger.claim_study("there", ELSEWHERE, 60)
        else:
            ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), ELSEWHERE, 60)
        for begin in (
            lambda: ledger.claim_study("here", owner_here(), 60),
            lambda: ledger.take_part("new", "plan", REQUEST, None, lambda _: REQUEST, owner_here(), 60),
        ):
            with pytest.raises(TraindynoError, match="in use by gpu-box") as refusal:
                begin()
            assert "--store postgresql+psycopg://" in str(refusal.value.hint)
        assert [row.name for row in ledger.studies()] == ["here", "there"]


def test_a_file_that_another_machine_used_before_is_free(tmp_path: Path) -> None:
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        ledger.create_study("there", "plan", REQUEST, None)
        ledger.claim_study("there", ELSEWHERE, -1)
        assert ledger.claim_study("there", owner_here(), 60).owner == owner_here()


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
