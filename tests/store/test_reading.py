"""A store that may be read but not written: what is read of it is right, and nothing is left beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from store.private_mount import run_on_small_disk
from store.samples import REQUEST, measured, spec_of
from store.without_rights import run_without_rights
from traindyno.core.errors import TraindynoError
from traindyno.store import reading
from traindyno.store.ledger import Ledger

READ = """
import sys
from traindyno.core.errors import TraindynoError
from traindyno.store.ledger import Ledger
try:
    with Ledger.open_to_read(sys.argv[1]) as ledger:
        for row in ledger.studies():
            print(row.name, *(record.batch_size for record in ledger.trials(row.id)))
except TraindynoError as error:
    print(error.message, "|", error.hint)
"""

CRASH = """
import os, sys
sys.path.insert(0, sys.argv[2])
from store.test_reading import commit
from traindyno.store.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
commit(ledger, "cut", 8)
os._exit(9)
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in a folder of its own, with one study."""
    path = tmp_path / "theirs" / "traindyno.db"
    path.parent.mkdir()
    with Ledger.open(str(path)) as ledger:
        commit(ledger, "here", 2)
    return path


def commit(ledger: Ledger, name: str, size: int) -> None:
    study = ledger.create_study(name, "plan", REQUEST, None)
    lease = ledger.lease(ledger.enqueue(study.id, spec_of(size), 0), "alice", 60)
    assert lease is not None
    ledger.commit(lease, measured(spec_of(size)))


def _read(store: Path) -> str:
    done = run_without_rights("-c", READ, str(store))
    assert done.returncode == 0, done.stderr
    return done.stdout


def _beside(store: Path) -> list[str]:
    return sorted(path.name for path in store.parent.iterdir())


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o755), (0o644, 0o555), (0o444, 0o555)])
def test_it_is_read_and_nothing_is_left_beside_it(store: Path, file: int, folder: int) -> None:
    store.chmod(file)
    store.parent.chmod(folder)
    assert _read(store) == "here 2\n"
    assert _beside(store) == ["traindyno.db"]


READ_ONLY_DISK = """
import subprocess, sys
sys.path.insert(0, sys.argv[2])
from store.test_reading import READ, commit
from traindyno.store.ledger import Ledger
folder = sys.argv[1]
with Ledger.open(folder + "/traindyno.db") as ledger:
    commit(ledger, "here", 2)
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
sys.argv[1] = folder + "/traindyno.db"
exec(READ)
"""


def test_it_is_read_on_a_file_system_that_is_read_only(tmp_path: Path) -> None:
    assert run_on_small_disk(tmp_path, READ_ONLY_DISK, str(tmp_path), _tests()) == "here 2\n"


def test_what_its_owner_has_just_committed_is_read_too(store: Path) -> None:
    with Ledger.open(str(store)) as ledger:
        commit(ledger, "newer", 4)
        store.parent.chmod(0o555)
        assert f"{store.name}-wal" in _beside(store)
        assert _read(store) == "newer 4\nhere 2\n"
        commit(ledger, "newest", 8)
        assert _read(store) == "newest 8\nnewer 4\nhere 2\n"
        store.parent.chmod(0o755)
    store.parent.chmod(0o555)
    assert _read(store) == "newest 8\nnewer 4\nhere 2\n"


def test_a_link_to_a_store_that_is_being_written_shows_what_is_new(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)
    with Ledger.open(str(store)) as ledger:
        commit(ledger, "newer", 4)
        store.parent.chmod(0o555)
        assert _read(link) == "newer 4\nhere 2\n"
        store.parent.chmod(0o755)


def test_what_a_process_had_committed_that_was_killed_is_read(store: Path) -> None:
    _crash(store)
    store.parent.chmod(0o555)
    assert _beside(store) == [store.name, f"{store.name}-shm", f"{store.name}-wal"]
    assert _read(store) == "cut 8\nhere 2\n"


def test_a_log_that_cannot_be_read_is_not_passed_over(store: Path) -> None:
    _crash(store)
    store.with_name(f"{store.name}-shm").unlink()
    store.parent.chmod(0o555)
    told = _read(store)
    assert "has a write-ahead log beside it that cannot be read" in told
    assert f"cp {store} {store}-wal FOLDER" in told


def _crash(store: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, str(store), _tests()], check=False, timeout=300)
    assert done.returncode == 9


def _tests() -> str:
    return str(Path(__file__).parents[1])


def test_a_store_of_an_older_schema_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    old = tmp_path / "old.sqlite"
    shutil.copy(Path(__file__).parent / "fixtures" / "schema_1.sqlite", old)
    old.chmod(0o444)
    before = old.read_bytes()
    assert _read(old).splitlines()[1] == "finished 1 2 4"
    assert old.read_bytes() == before


def test_an_empty_file_has_no_studies(tmp_path: Path) -> None:
    (tmp_path / "traindyno.db").touch(mode=0o444)
    assert _read(tmp_path / "traindyno.db") == ""


def test_a_file_of_something_else_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 100)
    path.chmod(0o444)
    assert "is not a database" in _read(path)


def test_what_may_not_be_read_is_refused_by_name(store: Path) -> None:
    store.chmod(0)
    assert f"the store {store} may not be read" in _read(store)
    store.chmod(0o644)
    store.parent.chmod(0)
    told = _read(store)
    store.parent.chmod(0o755)
    assert f"the store {store} may not be read" in told
    assert "--store" in told


@pytest.fixture
def protected(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in this process, which may write it after all, as its owner does meanwhile."""
    monkeypatch.setattr(reading, "may_write", lambda path: False)
    os.utime(store, (1, 1))
    return store


def test_writing_to_what_is_only_read_is_refused_instead_of_being_lost(protected: Path) -> None:
    with (
        Ledger.open_to_read(str(protected)) as ledger,
        pytest.raises(TraindynoError, match="cannot be written") as refused,
    ):
        ledger.create_study("lost", "plan", REQUEST, None)
    assert "--store" in str(refused.value.hint)


def _meanwhile(act: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the owner act each time the file has been copied; the list grows with each."""
    copied = reading._copied
    times: list[int] = []

    def then_act(path: Path, *, has_log: bool) -> object:
        copy = copied(path, has_log=has_log)
        times.append(len(times))
        act(times[-1])
        return copy

    monkeypatch.setattr(reading, "_copied", then_act)
    return times


def test_a_file_that_is_written_while_it_is_read_is_read_anew(protected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_at_first(time: int) -> None:
        if time == 0:
            with Ledger.open(str(protected)) as ledger:
                commit(ledger, "newer", 4)

    times = _meanwhile(write_at_first, monkeypatch)
    with Ledger.open_to_read(str(protected)) as ledger:
        assert [row.name for row in ledger.studies()] == ["newer", "here"]
    assert len(times) == 2


def test_a_file_that_a_process_opens_while_it_is_read_is_read_anew(
    protected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    times = _meanwhile(lambda time: opened.append(Ledger.open(str(protected))) if time == 0 else None, monkeypatch)
    with Ledger.open_to_read(str(protected)) as ledger:
        assert [row.name for row in ledger.studies()] == ["here"]
    opened[0].close()
    assert len(times) == 2


def test_a_file_that_is_never_still_is_refused(protected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _meanwhile(lambda time: os.utime(protected, (time, time)), monkeypatch)
    with pytest.raises(TraindynoError, match="is being written to all the time"):
        Ledger.open_to_read(str(protected))
