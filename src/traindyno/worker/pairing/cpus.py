"""Both arms of a pair on the same CPUs, where the step is on a GPU.

There the host only launches. Where that limits the step and the machine is shared, two processes with settings that
launch the same were seen to differ by a third for as long as they lived, most likely by the CPUs that they were on.
Only one arm computes at any time, so that both can have the CPUs that the system chose for the baseline.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Protocol

from traindyno.core.base import Record
from traindyno.worker.pairing.messages import Side, Turn

MOST_BUSY = 1.3
"""CPUs that a step keeps busy at most if it only launches: what else computes must not be crowded together."""
LEAST_SHARE = 0.1
"""Of an arm's work, for the CPU of a thread to be kept: the forward and the backward pass have a thread each."""


class Thread(Record, frozen=True):
    """How long a thread has computed so far, and on which CPU it was last."""

    seconds: float
    cpu: int


class TakesTurns(Protocol):
    side: Side
    pid: int

    def measure(self) -> Turn: ...


class SameCpus:
    """Gives turns to two arms. After the first turn of both it keeps them on the same CPUs, if they can share them.

    `cpus` are those: none where that is not `wanted`, or where the system does not tell or an arm needs more of them.
    """

    def __init__(self, baseline: TakesTurns, candidate: TakesTurns, wanted: bool) -> None:
        self.cpus: tuple[int, ...] = ()
        self._arms = (baseline, candidate)
        self._unseen = {baseline.side, candidate.side} if wanted else set()
        self._busy = 0.0
        self._chosen: tuple[int, ...] = ()

    def turn_of(self, arm: TakesTurns) -> Callable[[], Turn]:
        return lambda: self._first_turn(arm) if arm.side in self._unseen else arm.measure()

    def _first_turn(self, arm: TakesTurns) -> Turn:
        before = threads_of(arm.pid)
        turn = arm.measure()
        work = work_between(before, threads_of(arm.pid))
        self._busy = max(self._busy, sum(thread.seconds for thread in work.values()) / turn.block.seconds)
        if arm.side == "baseline":
            self._chosen = cpus_of(work)
        self._unseen.remove(arm.side)
        if not self._unseen and self._busy <= MOST_BUSY:
            self._keep_together()
        return turn

    def _keep_together(self) -> None:
        """Both or neither: an arm that alone is kept somewhere would be the difference that this is to prevent."""
        before = [cpus_allowed(arm.pid) for arm in self._arms]
        if self._chosen and all(keep_on(arm.pid, self._chosen) for arm in self._arms):
            self.cpus = self._chosen
            return
        for arm, cpus in zip(self._arms, before, strict=True):
            keep_on(arm.pid, cpus)


def threads_of(pid: int) -> dict[int, Thread]:
    """The threads of a process by number; those that the system does not tell of are left out."""
    found: dict[int, Thread] = {}
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                found[int(number)] = _thread(f"/proc/{pid}/task/{number}")
    return found


def _thread(folder: str) -> Thread:
    with open(f"{folder}/schedstat") as times, open(f"{folder}/stat") as stat:
        # The name of a thread, in brackets, may hold anything; the CPU is the 37th word after it.
        return Thread(seconds=int(times.read().split()[0]) / 1e9, cpu=int(stat.read().rpartition(")")[2].split()[36]))


def work_between(before: Mapping[int, Thread], after: Mapping[int, Thread]) -> dict[int, Thread]:
    """What each thread did between two looks, and where it was at the second."""
    return {
        number: Thread(seconds=thread.seconds - (before[number].seconds if number in before else 0.0), cpu=thread.cpu)
        for number, thread in after.items()
    }


def cpus_of(work: Mapping[int, Thread]) -> tuple[int, ...]:
    """Where the threads were that did the work."""
    least = LEAST_SHARE * sum(thread.seconds for thread in work.values())
    return tuple(sorted({thread.cpu for thread in work.values() if thread.seconds > 0 and thread.seconds >= least}))


def cpus_allowed(pid: int) -> tuple[int, ...]:
    """Those that a process may be on; none where it is gone."""
    try:
        return tuple(os.sched_getaffinity(pid))
    except OSError:
        return ()


def keep_on(pid: int, cpus: tuple[int, ...]) -> bool:
    """Keep all threads of a process on these CPUs, and those that they will start; false where one of them may not."""
    allowed = True
    for number in threads_of(pid):
        try:
            os.sched_setaffinity(number, cpus)
        except ProcessLookupError:
            continue
        except OSError:
            allowed = False
    return allowed
