"""kill -9 at any moment: what was acknowledged is there, nothing is there twice, all gets finished."""

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import pytest

from postgres import Cluster
from store.samples import REQUEST, measured, spec_of
from traindyno.core.base import Record
from traindyno.store.ledger import Ledger, owner_here

FORK = multiprocessing.get_context("fork")
LEASE_SECONDS = 3600.0
STUDY = "loop"


class _Child(Record, frozen=True):
    process: BaseProcess
    acknowledged: int


def _work(store: str, trials: int, permits: Semaphore, acknowledged: int) -> None:
    """Run every trial that is free, acknowledging each commit, until all are committed."""
    with Ledger.open(store) as ledger:
        study = ledger.study(STUDY)
        while ledger.study(STUDY).trials < trials:
            for ordinal in range(1, trials + 1):
                _run_one(ledger, study.id, ordinal, permits, acknowledged)


def _run_one(ledger: Ledger, study_id: int, ordinal: int, permits: Semaphore, acknowledged: int) -> None:
    """Until there is a permit, renew the lease without pause: a kill then mostly hits a write."""
    spec = spec_of(ordinal)
    lease = ledger.lease(ledger.enqueue(study_id, spec, ordinal), owner_here(), LEASE_SECONDS)
    if lease is None:
        return
    while not permits.acquire(block=False):
        assert ledger.renew(lease, LEASE_SECONDS)
    evidence = random.SystemRandom().randrange(2**40)
    ledger.commit(lease, measured(spec, step_seconds=float(evidence)))
    os.write(acknowledged, f"{ordinal} {evidence}\n".encode())


def _start(store: str, trials: int, permits: Semaphore) -> _Child:
    reading, writing = os.pipe()
    process = FORK.Process(target=_work, args=(store, trials, permits, writing), daemon=True)
    process.start()
    os.close(writing)
    return _Child(process=process, acknowledged=reading)


def _ended(child: _Child) -> list[bytes]:
    """Wait for the child's end; every commit it acknowledged before."""
    with os.fdopen(child.acknowledged, "rb") as pipe:
        lines = pipe.read().splitlines()
    child.process.join()
    return lines


def _kill_loop(store: str, kills: int, trials: int, seed: int) -> None:
    """Two children at work, one of them killed and replaced again and again; then both may finish."""
    with Ledger.open(store) as ledger:
        study_id = ledger.create_study(STUDY, "throughput", REQUEST, None).id
    permits = FORK.Semaphore(0)
    children = [_start(store, trials, permits), _start(store, trials, permits)]
    try:
        acknowledged = _kill(children, partial(_start, store, trials, permits), permits, kills, trials, seed)
        acknowledged += _finish(children, permits, trials)
    finally:
        for child in children:
            child.process.kill()
    _check(store, study_id, trials, acknowledged)


def _kill(
    children: list[_Child],
    start: Callable[[], _Child],
    permits: Semaphore,
    kills: int,
    trials: int,
    seed: int,
) -> list[bytes]:
    """Permits are so few that the last trial cannot be committed before the last kill."""
    chance = random.Random(seed)
    acknowledged: list[bytes] = []
    for _ in range(kills):
        for _ in range(trials // kills - 1):
            permits.release()
        time.sleep(chance.uniform(0.0, 0.06))
        victim = children.pop(chance.randrange(2))
        victim.process.kill()
        children.append(start())
        acknowledged += _ended(victim)
        assert victim.process.exitcode == -signal.SIGKILL
    return acknowledged


def _finish(children: list[_Child], permits: Semaphore, trials: int) -> list[bytes]:
    for _ in range(trials):
        permits.release()
    acknowledged = [line for child in children for line in _ended(child)]
    assert [child.process.exitcode for child in children] == [0, 0]
    return acknowledged


def _check(store: str, study_id: int, trials: int, acknowledged: list[bytes]) -> None:
    with Ledger.open(store) as ledger:
        stored = {record.batch_size: record for record in ledger.trials(study_id)}
        attempts = [ledger.attempts(ledger.enqueue(study_id, spec_of(size), size)) for size in stored]
        assert ledger.study(STUDY).trials == trials
    assert sorted(stored) == list(range(1, trials + 1))
    assert [len(each) for each in attempts] == [1] * trials
    told = dict(map(int, line.split()) for line in acknowledged)
    assert len(told) == len(acknowledged)
    assert len(told) > trials // 2
    for ordinal, evidence in told.items():
        assert stored[ordinal].measurement == measured(spec_of(ordinal), float(evidence)).measurement


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new store, whose file is whole in the end."""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        yield cluster.new_store()
        return
    yield str(tmp_path / "traindyno.db")
    raw = sqlite3.connect(tmp_path / "traindyno.db")
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.close()


def test_fifteen_kills_lose_no_acknowledged_trial(store: str) -> None:
    _kill_loop(store, kills=15, trials=75, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_hundred_kills_lose_no_acknowledged_trial(store: str) -> None:
    _kill_loop(store, kills=200, trials=900, seed=2)
