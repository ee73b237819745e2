"""Batches that a thread of torch's loader pins, here without a GPU: how many are ready, and what follows from it."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data._utils import pin_memory as pinning

from traindyno.analysis.flow_pace import pace_of
from traindyno.core.records import Budget, Settings
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loading import make_loader
from traindyno.worker.data.ready import ready_batches
from traindyno.worker.data.sampling import EndlessBatches
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import CpuDevice
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from worker.counted_device import SilentChannel
from worker.data.test_ready import SOON, Numbers, reached

SETTINGS = Settings(batch_size=4, num_workers=4, pin_memory=True)
AHEAD = SETTINGS.num_workers * SETTINGS.prefetch_factor


class Pins:
    """So many batches are pinned as the test allows, which is told how many the thread has begun."""

    def __init__(self) -> None:
        self._allowed, self.begun = threading.Semaphore(0), 0

    def allow(self, batches: int) -> None:
        self._allowed.release(batches)

    def pin(self, batch: Any, device: object) -> Any:
        self.begun += 1
        self._allowed.acquire()
        return batch


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pins]:
    """torch's own thread at work, which only begins where there is a device."""
    told, accelerator = Pins(), torch.accelerator
    monkeypatch.setattr(accelerator, "is_available", lambda: True)
    monkeypatch.setattr(accelerator, "current_accelerator", lambda *_: torch.device("cuda"))
    monkeypatch.setattr(accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(accelerator, "set_device_index", lambda _: None)
    monkeypatch.setattr(pinning, "pin_memory", told.pin)
    yield told
    told.allow(1000)


@pytest.fixture
def flow(pins: Pins) -> Iterator[Flow]:
    """In any order, so that whatever is pinned first can be taken."""
    pins.allow(1)
    batches = EndlessBatches(lambda _: range(64), SETTINGS.batch_size)
    with Flow(make_loader(Numbers(), SETTINGS, torch.stack, "numbers", batches=batches, in_order=False)) as opened:
        opened.start()
        yield opened
        pins.allow(1000)


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + SOON
    while not holds() and time.monotonic() < ends:
        time.sleep(0.01)
    assert holds()


def test_only_what_is_pinned_is_ready(flow: Flow, pins: Pins) -> None:
    iterator: Any = flow._iterator
    wait_until(lambda: pins.begun == 2 and iterator._worker_result_queue.qsize() == AHEAD - 1)
    assert ready_batches(iterator) == 0
    pins.allow(3)
    assert reached(iterator, 3) == 3
    pins.allow(AHEAD - 3)
    assert reached(iterator, AHEAD) == AHEAD
    flow.take()
    assert ready_batches(iterator) == AHEAD - 1


class Counted:
    """A supply without end, and a clock by which only a step takes time: a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def left(self) -> float:
        return float("inf")

    def renew(self) -> None: ...


def timed(flow: Flow, before_each: Callable[[], None]) -> FlowTiming:
    counted = Counted()
    waits = Stopwatch(counted.clock)

    def take() -> None:
        before_each()
        flow.take()

    timed_take = waits.around(take)

    def step() -> None:
        timed_take()
        counted.now += 1.0

    timer = FlowTimer(
        step,
        counted,
        waits,
        pace_of(SETTINGS),
        CpuDevice(),
        SilentChannel(),
        clock=counted.clock,
        ready=flow.ready,
        skip=take,
    )
    return timer.run(Budget(seconds=10.0, relative_interval=0.0))


def test_workers_whose_batches_are_pinned_in_time_are_seen_to_be_ahead(flow: Flow, pins: Pins) -> None:
    pins.allow(1000)
    told = timed(flow, lambda: wait_until(lambda: flow.ready() == AHEAD))
    assert {block.steps for block in told.timing.blocks} == {1}


def test_workers_that_wait_for_the_thread_that_pins_are_not_ahead(flow: Flow, pins: Pins) -> None:
    """All have finished what they may, and one batch is pinned for each that is taken."""
    told = timed(flow, lambda: pins.allow(1))
    assert {block.steps for block in told.timing.blocks} == {SETTINGS.num_workers}
