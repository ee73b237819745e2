"""Two arms on the same CPUs: who shares, on real processes that compute for a moment when they are asked to."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from traindyno.core.records import Block, Memory
from traindyno.worker.pairing import cpus
from traindyno.worker.pairing.cpus import SameCpus, Thread, cpus_of, keep_on, threads_of, work_between
from traindyno.worker.pairing.messages import Side, Turn

SPIN_SECONDS = 0.1
PROGRAM = f"""
import sys, time
for _ in sys.stdin:
    until = time.thread_time() + {SPIN_SECONDS}
    while time.thread_time() < until:
        pass
    print(flush=True)
"""


class SpinningArm:
    def __init__(self, side: Side) -> None:
        self.side = side
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def measure(self) -> Turn:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = time.monotonic()
        print(file=self._process.stdin, flush=True)
        self._process.stdout.readline()
        return Turn(block=Block(steps=1, seconds=time.monotonic() - start), memory=Memory(peak_bytes=1))

    @property
    def allowed(self) -> set[int]:
        return os.sched_getaffinity(self.pid)

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def arms() -> Iterator[tuple[SpinningArm, SpinningArm]]:
    both = SpinningArm("baseline"), SpinningArm("candidate")
    yield both
    for arm in both:
        arm.close()


def take_turns(arms: tuple[SpinningArm, SpinningArm], count: int, wanted: bool = True) -> SameCpus:
    same = SameCpus(*arms, wanted)
    turns = [same.turn_of(arm) for arm in arms]
    for number in range(count):
        turns[number % 2]()
    return same


def test_after_a_turn_of_each_both_arms_are_kept_where_the_baseline_was(arms: tuple[SpinningArm, SpinningArm]) -> None:
    same = take_turns(arms, count=2)
    assert len(same.cpus) == 1
    assert arms[0].allowed == arms[1].allowed == set(same.cpus)


def test_before_both_were_seen_neither_is_held(arms: tuple[SpinningArm, SpinningArm]) -> None:
    assert take_turns(arms, count=1).cpus == ()
    assert arms[0].allowed == arms[1].allowed == os.sched_getaffinity(0)


def test_arms_that_compute_on_the_host_are_left_alone(arms: tuple[SpinningArm, SpinningArm]) -> None:
    assert take_turns(arms, count=4, wanted=False).cpus == ()
    assert arms[0].allowed == arms[1].allowed == os.sched_getaffinity(0)


def test_arms_that_need_more_cpus_are_left_alone(
    arms: tuple[SpinningArm, SpinningArm], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "MOST_BUSY", 0.0)
    assert take_turns(arms, count=4).cpus == ()
    assert arms[0].allowed == arms[1].allowed == os.sched_getaffinity(0)


def test_where_the_system_does_not_tell_of_threads_arms_are_left_alone(
    arms: tuple[SpinningArm, SpinningArm], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "threads_of", lambda pid: {})
    assert take_turns(arms, count=4).cpus == ()
    assert arms[0].allowed == arms[1].allowed == os.sched_getaffinity(0)


def test_where_one_arm_may_not_be_kept_the_other_is_not_either(
    arms: tuple[SpinningArm, SpinningArm], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.sched_setaffinity

    def refuse(number: int, wanted: tuple[int, ...]) -> None:
        if number == arms[1].pid:
            raise PermissionError(number)
        original(number, wanted)

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert take_turns(arms, count=4).cpus == ()
    assert arms[0].allowed == arms[1].allowed == os.sched_getaffinity(0)


def test_the_work_of_every_thread_is_seen() -> None:
    stop, numbers = threading.Event(), []

    def spin() -> None:
        numbers.append(threading.get_native_id())
        while not stop.is_set():
            pass

    before = threads_of(os.getpid())
    thread = threading.Thread(target=spin)
    thread.start()
    time.sleep(SPIN_SECONDS)
    work = work_between(before, threads_of(os.getpid()))
    stop.set()
    thread.join()
    assert max(work, key=lambda number: work[number].seconds) == numbers[0]
    assert work[numbers[0]].cpu in os.sched_getaffinity(0)


def test_a_process_that_is_gone_has_no_threads() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert threads_of(process.pid) == {}
    assert keep_on(process.pid, (0,))


def test_the_cpus_of_threads_that_hardly_work_do_not_count() -> None:
    work = {1: Thread(seconds=0.05, cpu=3), 2: Thread(seconds=0.04, cpu=7), 3: Thread(seconds=0.002, cpu=1)}
    assert cpus_of(work) == (3, 7)
    assert cpus_of({1: Thread(seconds=0.0, cpu=3)}) == ()


def test_cpus_that_do_not_exist_are_refused() -> None:
    assert not keep_on(os.getpid(), (4095,))
