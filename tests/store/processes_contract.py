"""What every ledger promises to processes that come, work beside each other, and are seen to die."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier, Event

from store.samples import REQUEST, measured, spec_of
from traindyno.store.ledger import Ledger, owner_here

FORK = multiprocessing.get_context("fork")


class ProcessesContract:
    """A backend has a fixture `store`, which names a new and empty one."""

    def test_what_a_dead_process_held_is_free_at_once(self, store: str) -> None:
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

    def test_processes_that_open_a_new_store_at_once_all_succeed(self, store: str) -> None:
        assert _ends_of_eight(_open_when_told, store) == [0] * 8
        with Ledger.open(store) as ledger:
            assert len(ledger.studies()) == 8

    def test_processes_that_begin_the_same_study_at_once_all_take_part_in_one(self, store: str) -> None:
        Ledger.open(store).close()
        assert _ends_of_eight(_take_part_when_told, store) == [0] * 8
        with Ledger.open(store) as ledger:
            assert [study.name for study in ledger.studies()] == ["shared"]

    def test_what_a_killed_participant_had_is_free_at_once_and_so_is_its_place(self, store: str) -> None:
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

    def test_three_processes_grow_one_study_without_drawing_anything_twice(self, store: str) -> None:
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


def _claim_and_die(store: str) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.claim_study("here", owner_here(), 3600)
        ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), owner_here(), 3600)


def _ends_of_eight(target: Callable[..., None], store: str) -> list[int | None]:
    """The exit codes of eight processes that do the same at the same moment."""
    start = FORK.Barrier(8)
    children = [FORK.Process(target=target, args=(store, start), daemon=True) for _ in range(8)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    return [child.exitcode for child in children]


def _open_when_told(store: str, start: Barrier) -> None:
    start.wait()
    with Ledger.open(store) as ledger:
        ledger.create_study(None, "plan", REQUEST, None)


def _join_with_a_trial(store: str, has_it: Event) -> None:
    with Ledger.open(store) as ledger:
        ledger.join_study("shared", owner_here(), 3600)
        study = ledger.study("shared")
        ledger.lease(ledger.enqueue(study.id, spec_of(1), 1), owner_here(), 3600)
        has_it.set()
        time.sleep(60)


def _grow(store: str, trials: int) -> None:
    with Ledger.open(store) as ledger:
        ledger.join_study("shared", owner_here(), 3600)
        study = ledger.study("shared")
        while (known := len(ledger.queue(study.id))) < trials:
            ledger.enqueue_all_if(study.id, [spec_of(known + 1)], known)
            taken = ledger.lease_next(study.id, owner_here(), 3600)
            if taken is not None:
                ledger.commit(taken.lease, measured(taken.spec))


def _take_part_when_told(store: str, start: Barrier) -> None:
    with Ledger.open(store) as ledger:
        start.wait()
        ledger.take_part("shared", "throughput", REQUEST, None, lambda _: REQUEST, owner_here(), 60)
