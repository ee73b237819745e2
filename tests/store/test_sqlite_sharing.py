"""The contract of shared studies on SQLite, and with processes that are seen to die."""

import multiprocessing
import os
import signal
import time
from multiprocessing.synchronize import Event
from pathlib import Path

from store.samples import REQUEST, FakeClock, measured, spec_of
from store.sharing_contract import SharingContract
from traindyno.store.ledger import Ledger, owner_here

FORK = multiprocessing.get_context("fork")


class TestSqliteSharing(SharingContract):
    def open_ledger(self, place: Path, clock: FakeClock) -> Ledger:
        return Ledger.open(str(place / "traindyno.db"), clock=clock)


def _join_with_a_trial(store: str, has_it: Event) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.join_study("shared", owner_here(), 3600)
        ledger.lease(ledger.enqueue(study.id, spec_of(1), 1), owner_here(), 3600)
        has_it.set()
        time.sleep(60)


def test_what_a_killed_participant_had_is_free_at_once_and_so_is_its_place(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    with Ledger.open(store) as ledger:
        study = ledger.create_study("shared", "throughput", REQUEST, None)
    has_it = FORK.Event()
    child = FORK.Process(target=_join_with_a_trial, args=(store, has_it), daemon=True)
    child.start()
    assert has_it.wait(30)
    with Ledger.open(store) as ledger:
        beside = ledger.join_study("shared", owner_here(), 3600)
        assert beside.owner != owner_here()
        assert ledger.queue(study.id)[0].in_hands
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert ledger.study("shared").state == "interrupted"
        assert not ledger.queue(study.id)[0].in_hands
        again = ledger.join_study("shared", owner_here(), 3600)
        assert (again.owner, again.state) == (owner_here(), "running")


def _grow(store: str, trials: int) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.join_study("shared", owner_here(), 3600)
        while (known := len(ledger.queue(study.id))) < trials:
            trial = ledger.enqueue_if(study.id, spec_of(known + 1), known + 1, known)
            lease = None if trial is None else ledger.lease(trial, owner_here(), 3600)
            if lease is not None:
                ledger.commit(lease, measured(spec_of(known + 1)))


def test_three_processes_grow_one_study_without_drawing_anything_twice(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    with Ledger.open(store) as ledger:
        ledger.create_study("shared", "throughput", REQUEST, None)
    children = [FORK.Process(target=_grow, args=(store, 60), daemon=True) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    with Ledger.open(store) as ledger:
        study = ledger.study("shared")
        assert [record.batch_size for record in ledger.trials(study.id)] == list(range(1, 61))
        assert all(len(ledger.attempts(trial.id)) == 1 for trial in ledger.queue(study.id))
