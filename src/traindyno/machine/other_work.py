"""What others took of the CPUs beside a trial.

On a CPU their work is a part of what is measured; beside a GPU it slows the loading and the launching. What a host of
virtual machines gives to another one counts as theirs.
"""

import time
from collections.abc import Callable

from traindyno.machine.process_tree import ProcessTree
from traindyno.machine.readings import INTERVAL_SECONDS, CpuClock

LOOK_SECONDS = 0.5


def others_now(
    cpu_clock: Callable[[], CpuClock] = CpuClock, pause: Callable[[float], None] = time.sleep
) -> float | None:
    """The share of the CPUs that everybody but this process takes right now; null where the kernel does not tell."""
    clock, ours = cpu_clock(), time.process_time()
    pause(LOOK_SECONDS)
    busy, ours = clock.busy_seconds(LOOK_SECONDS), time.process_time() - ours
    return None if busy is None else min(1.0, max(0.0, busy - ours) / (LOOK_SECONDS * clock.cpus))


class OtherWork:
    """Looks whenever `tick` finds that a second has passed, and adds up who was busy meanwhile."""

    def __init__(
        self,
        cpu_clock: Callable[[], CpuClock] = CpuClock,
        process_tree: Callable[[int], ProcessTree] = ProcessTree,
    ) -> None:
        self._clock = cpu_clock()
        self._process_tree = process_tree
        self._tree: ProcessTree | None = None
        self._due: float | None = None
        self._before: tuple[float, float, float] | None = None
        self._others_seconds = 0.0
        self._whole_seconds = 0.0

    def tick(self, now: float, pid: int | None) -> None:
        """Look if it is time; `now` is the monotonic clock, `pid` the trial's process."""
        if pid is None or (self._due is not None and now < self._due):
            return
        self._due = now + INTERVAL_SECONDS
        if self._tree is None or self._tree.pid != pid:
            self._tree, self._before = self._process_tree(pid), None
        self._tree.look()
        self._count(now, self._tree.cpu_seconds())

    def share(self) -> float | None:
        """Of all CPUs that may be used, over the whole trial; null where that is not known."""
        return min(1.0, self._others_seconds / self._whole_seconds) if self._whole_seconds else None

    def _count(self, now: float, trial_seconds: float | None) -> None:
        before, ours = self._before, time.process_time()
        self._before = None if trial_seconds is None else (now, trial_seconds, ours)
        busy = self._clock.busy_seconds(0.0 if before is None else now - before[0])
        if before is None or trial_seconds is None or busy is None:
            return
        known = max(0.0, trial_seconds - before[1]) + ours - before[2]
        self._others_seconds += max(0.0, busy - known)
        self._whole_seconds += (now - before[0]) * self._clock.cpus
