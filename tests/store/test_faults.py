import json
import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import event

from store.private_mount import run_on_small_disk
from store.samples import REQUEST, measured, spec_of
from store.without_rights import run_without_rights
from traindyno.core.errors import TraindynoError
from traindyno.store import connection
from traindyno.store.connection import file_database, open_database
from traindyno.store.ledger import Ledger


def _refusal(store: Path | str, create: bool = True) -> TraindynoError:
    with pytest.raises(TraindynoError) as refusal:
        Ledger.open(str(store), create=create)
    return refusal.value


def test_a_missing_folder_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    error = _refusal(tmp_path / "no such" / "traindyno.db")
    assert "does not exist" in error.message
    assert f"mkdir -p '{tmp_path}/no such'" in str(error.hint)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    error = _refusal(tmp_path)
    assert "is a folder" in error.message
    assert str(tmp_path / "traindyno.db") in str(error.hint)


def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not an ordinary file" in _refusal(tmp_path / "pipe").message


def test_a_text_file_is_no_store_and_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 100)
    error = _refusal(path)
    assert "is not a database" in error.message
    assert f"mv {path} {path}.old" in str(error.hint)
    assert path.read_text().startswith("these are my notes")


def test_a_store_that_must_exist_is_not_created(tmp_path: Path) -> None:
    assert "there is no store at" in _refusal(tmp_path / "traindyno.db", create=False).message
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "traindyno.db").touch()
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        assert ledger.studies() == []


def test_a_damaged_store_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    with Ledger.open(str(path)) as ledger:
        _fill(ledger, 200)
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\x5a" * (len(content) - 3 * 4096)
    path.write_bytes(content)
    with pytest.raises(TraindynoError, match="is damaged") as error:
        _read(path)
    assert ".recover" in str(error.value.hint)


def test_a_cut_store_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    with Ledger.open(str(path)) as ledger:
        _fill(ledger, 200)
    os.truncate(path, 5000)
    with pytest.raises(TraindynoError, match="is damaged"):
        _read(path)


def test_a_store_locked_for_too_long_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    path = tmp_path / "traindyno.db"
    with Ledger.open(str(path)) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TraindynoError, match="locked by another process") as error:
            ledger.create_study("here", "plan", REQUEST, None)
        assert "fuser" in str(error.value.hint)
        other.close()
        assert ledger.create_study("here", "plan", REQUEST, None).name == "here"


def test_a_place_where_nothing_can_be_created_is_refused() -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc, a folder where even root creates nothing")
    error = _refusal("/proc/self/traindyno.db")
    assert "/proc/self/traindyno.db" in error.message
    assert "folder you may write to" in str(error.hint)


OPEN = """
import sys
from traindyno.core.errors import TraindynoError
from traindyno.store.ledger import Ledger
try:
    Ledger.open(sys.argv[1])
except TraindynoError as error:
    print(error.message, error.hint)
"""


@pytest.mark.parametrize(("file", "folder"), [(None, 0o555), (0o644, 0o555), (0o444, 0o755)])
def test_what_may_not_be_written_is_refused(tmp_path: Path, file: int | None, folder: int) -> None:
    path = tmp_path / "theirs" / "traindyno.db"
    path.parent.mkdir()
    if file is not None:
        Ledger.open(str(path)).close()
        path.chmod(file)
    path.parent.chmod(folder)
    told = run_without_rights("-c", OPEN, str(path)).stdout
    assert f"the store {path} cannot be written" in told
    assert "folder you may write to with --store" in told


READ_ONLY = """
import subprocess, sys
from traindyno.core.errors import TraindynoError
from traindyno.store.ledger import Ledger
folder = sys.argv[1]
Ledger.open(folder + "/old.db").close()
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
for name in ("old.db", "new.db"):
    try:
        Ledger.open(f"{folder}/{name}")
    except TraindynoError as error:
        print(error.message, error.hint)
"""


def test_a_read_only_file_system_is_refused_for_old_and_new_stores(tmp_path: Path) -> None:
    lines = run_on_small_disk(tmp_path, READ_ONLY, str(tmp_path)).splitlines()
    assert len(lines) == 2
    assert all("read-only" in line and "folder you may write to" in line for line in lines)


FULL_DISK = """
import json, os, sys
sys.path.insert(0, sys.argv[2])
from store.test_faults import fill_until_refused
print(json.dumps(fill_until_refused(sys.argv[1])))
"""


def fill_until_refused(folder: str) -> dict[str, object]:
    """Commit trials until the disk is full, then make room and commit one more."""
    ballast = Path(folder, "ballast")
    ballast.write_bytes(bytes(300_000))
    with Ledger.open(f"{folder}/traindyno.db") as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        committed = []
        try:
            for size in range(1, 5000):
                _commit(ledger, study.id, size)
                committed.append(size)
        except TraindynoError as error:
            refusal = f"{error.message}; {error.hint}"
        full = [record.batch_size for record in ledger.trials(study.id)]
        ballast.unlink()
        _commit(ledger, study.id, 9999)
        return {
            "refusal": refusal,
            "kept": full == committed,
            "count": len(full),
            "after": len(ledger.trials(study.id)),
        }


def test_on_a_full_disk_committed_trials_stay_and_the_rest_can_follow(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    told = json.loads(run_on_small_disk(tmp_path, FULL_DISK, str(tmp_path), tests))
    assert "no space is left" in told["refusal"]
    assert "df -h" in told["refusal"]
    assert told["kept"]
    assert told["count"] > 10
    assert told["after"] == told["count"] + 1


def test_a_database_that_may_not_grow_is_full(tmp_path: Path) -> None:
    path = tmp_path / "traindyno.db"
    engine = open_database(path)
    engine.dispose()
    event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count = 20"))
    with Ledger(file_database(engine, path)) as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        with pytest.raises(TraindynoError, match="no space is left") as error:
            _commit_sizes(ledger, study.id, range(1, 500))
        assert "committed trials are kept" in str(error.value.hint)
        kept = [record.batch_size for record in ledger.trials(study.id)]
    assert kept == list(range(1, len(kept) + 1))
    with Ledger.open(str(path)) as ledger:
        assert [record.batch_size for record in ledger.trials(study.id)] == kept
        _commit(ledger, study.id, 9999)


def _read(path: Path) -> None:
    with Ledger.open(str(path)) as ledger:
        for study in ledger.studies():
            ledger.trials(study.id)


def _fill(ledger: Ledger, count: int) -> None:
    study = ledger.create_study("here", "plan", REQUEST, None)
    _commit_sizes(ledger, study.id, range(1, count + 1))


def _commit_sizes(ledger: Ledger, study_id: int, sizes: range) -> None:
    for size in sizes:
        _commit(ledger, study_id, size)


def _commit(ledger: Ledger, study_id: int, size: int) -> None:
    lease = ledger.lease(ledger.enqueue(study_id, spec_of(size), size), "alice", 60)
    assert lease is not None
    ledger.commit(lease, measured(spec_of(size)))
