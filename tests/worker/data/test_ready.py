"""What workers have finished is counted by the queues of torch's iterator."""

import queue
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from traindyno.worker.data.ready import ready_batches
from traindyno.worker.data.usage import Usage

SOON = 20.0


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index)


def reached(iterator: Any, count: int) -> int | None:
    """What is ready once that many are, or after long enough."""
    ends = time.monotonic() + SOON
    while ready_batches(iterator) != count and time.monotonic() < ends:
        time.sleep(0.01)
    return ready_batches(iterator)


@pytest.mark.parametrize(("workers", "prefetch"), [(1, 2), (2, 3)])
def test_idle_workers_have_all_ready_that_they_may(workers: int, prefetch: int) -> None:
    iterator = iter(DataLoader(Numbers(), batch_size=4, num_workers=workers, prefetch_factor=prefetch))
    assert reached(iterator, workers * prefetch) == workers * prefetch
    next(iterator)
    assert reached(iterator, workers * prefetch) == workers * prefetch


def test_what_is_taken_is_ready_no_more() -> None:
    iterator = iter(DataLoader(Numbers(), batch_size=16, num_workers=2))
    assert reached(iterator, 4) == 4
    for left in (3, 2, 1, 0):
        next(iterator)
        assert reached(iterator, left) == left


class FirstIsLate(Numbers):
    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(1.0 if index == 0 else 0.0)
        return super().__getitem__(index)


def test_a_batch_that_came_before_its_turn_counts() -> None:
    iterator = iter(DataLoader(FirstIsLate(), batch_size=16, num_workers=2))
    next(iterator)
    assert reached(iterator, 3) == 3


class ChangedMeanwhile(tuple[int, str]):
    """A batch beside its number: while one looks at it, another thread asks for the next."""

    waiting: dict[int, tuple[object, ...]]

    def __len__(self) -> int:
        self.waiting[len(self.waiting)] = (0,)
        return 2


def test_it_may_be_asked_while_another_thread_takes_a_batch() -> None:
    early = ChangedMeanwhile((1, "a batch"))
    early.waiting = {0: early, 1: (0,)}
    assert ready_batches(SimpleNamespace(_data_queue=queue.Queue(), _task_info=early.waiting)) == 1


def test_nobody_tells_without_workers() -> None:
    assert ready_batches(iter(DataLoader(Numbers(), batch_size=4))) is None
    assert ready_batches(iter(())) is None


class FakeFlow:
    """Workers that have used so many CPU seconds, and have so many batches ready."""

    def __init__(self, cpu_seconds: float, ready: int | None) -> None:
        self.cpu_seconds, self.waiting = cpu_seconds, ready

    def worker_cpu_seconds(self) -> float:
        return self.cpu_seconds

    def bytes_from_disk(self) -> None:
        return None

    def ready(self) -> int | None:
        return self.waiting


@pytest.mark.parametrize(("before", "after", "made"), [(2, 10, 24), (10, 2, 8), (6, 6, 16), (None, None, 16)])
def test_workers_are_charged_for_what_they_made_and_not_for_what_was_taken(
    before: int | None, after: int | None, made: int
) -> None:
    flow, usage = FakeFlow(cpu_seconds=3.0, ready=before), Usage()
    usage.begin(flow)  # type: ignore[arg-type]
    flow.cpu_seconds, flow.waiting = 11.0, after
    assert usage.end(flow).cpu_seconds_per(16) == pytest.approx(8.0 / made)  # type: ignore[arg-type]
