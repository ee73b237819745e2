"""What others took of the CPUs beside a trial."""

import pytest

from traindyno.machine.other_work import OtherWork, others_now
from traindyno.machine.process_tree import ProcessTree
from traindyno.machine.readings import CpuClock


class KnownClock(CpuClock):
    """Four CPUs of which three are busy, or that do not tell."""

    cpus = 4

    def __init__(self, busy: float | None = 3.0) -> None:
        self._busy_cpus = busy

    def busy_seconds(self, elapsed: float) -> float | None:
        return None if self._busy_cpus is None else self._busy_cpus * elapsed


class OneBusyCpu(ProcessTree):
    """A trial that spends a CPU second between any two looks."""

    seconds = 0.0

    def look(self) -> None:
        self.seconds += 1.0

    def cpu_seconds(self) -> float | None:
        return self.seconds


def seen(busy: float | None, moments: list[float], pids: tuple[int | None, ...] = (7,)) -> float | None:
    work = OtherWork(lambda: KnownClock(busy), OneBusyCpu)
    for index, now in enumerate(moments):
        work.tick(now, pids[min(index, len(pids) - 1)])
    return work.share()


def test_what_is_busy_beside_the_trial_is_others_work() -> None:
    assert seen(3.0, [0.0, 1.0, 2.0]) == pytest.approx(0.5, abs=0.02)


def test_a_trial_that_has_the_machine_to_itself_has_nobody_beside_it() -> None:
    assert seen(1.0, [0.0, 1.0, 2.0]) == 0.0


@pytest.mark.parametrize("moments", [[], [0.0], [0.0, 0.3, 0.6]])
def test_after_one_look_nothing_is_known(moments: list[float]) -> None:
    assert seen(3.0, moments) is None


def test_a_kernel_that_does_not_count_tells_nothing() -> None:
    assert seen(None, [0.0, 1.0, 2.0]) is None


def test_another_process_begins_anew() -> None:
    assert seen(3.0, [0.0, 1.0], pids=(7, 8)) is None


@pytest.mark.parametrize(("busy", "share"), [(3.0, 0.75), (9.0, 1.0), (None, None)])
def test_a_short_look_tells_what_everybody_else_takes(busy: float | None, share: float | None) -> None:
    told = others_now(lambda: KnownClock(busy), lambda seconds: None)
    assert told == (None if share is None else pytest.approx(share, abs=0.01))
