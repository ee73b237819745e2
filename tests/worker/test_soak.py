"""Long runs: their blocks and epochs."""

import itertools
import os
import signal
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.core.soaking import END_SIGNAL, Soak
from traindyno.worker.data.epochs import Epochs, NoEpochs
from traindyno.worker.data.gpu_decode import Ahead
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import CpuDevice, open_device
from traindyno.worker.ending import ending_on_request
from traindyno.worker.kinds import KINDS
from traindyno.worker.kinds import soak as soak_kind
from traindyno.worker.soak_timing import SoakTimer
from worker.counted_device import SilentChannel

EXAMPLES, BATCH = 40, 4
PAUSING = f"""
    import time, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, IterableDataset
    from traindyno import Workload

    class Items(Dataset):
        def __len__(self):
            return {EXAMPLES}
        def __getitem__(self, index):
            return torch.zeros(6), index % 2

    class Stream(IterableDataset):
        def __len__(self):
            return {EXAMPLES}
        def __iter__(self):
            time.sleep(0.3)
            return iter([(torch.zeros(6), 0)] * {EXAMPLES})

    class Pausing:
        def __len__(self):
            return {EXAMPLES}
        def __iter__(self):
            time.sleep(0.3)
            return iter(range({EXAMPLES}))

    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 2)
        def forward(self, inputs):
            time.sleep(0.12)
            return self.layer(inputs)

    def workload():
        return Workload(model=Slow(), loader=DataLoader(Items(), batch_size=2, sampler=Pausing()))

    def stream():
        return Workload(model=Slow(), loader=DataLoader(Stream(), batch_size=2))
"""


class Clockwork:
    """A step that takes so long by a clock of its own, and epochs of so many steps with a pause at their edges."""

    def __init__(self, step_seconds: float, length: float = float("inf"), pause_seconds: float = 0.0) -> None:
        self.now, self.steps, self.length = 0.0, 0, length
        self.waits = Stopwatch(lambda: self.now)
        self._step_seconds, self._pause_seconds = step_seconds, pause_seconds
        self._taken = 0.0

    def step(self) -> torch.Tensor:
        self.waits.around(self.take)()
        self.steps += 1
        self.now += self._step_seconds
        return torch.tensor(1.0)

    def take(self) -> None:
        if self._taken == self.length:
            self._taken = 0.0
            self.now += self._pause_seconds
        self._taken += 1

    def left(self) -> float:
        return self.length - self._taken

    def soak(self, seconds: float, asked: Callable[[], bool] = lambda: False) -> Soak:
        epochs: Epochs = NoEpochs() if self.length == float("inf") else self
        timer = SoakTimer(self.step, epochs, self.waits, CpuDevice(), SilentChannel(), asked, lambda: self.now)
        return timer.run(seconds)[0]


class Queue:
    """A GPU: a step loads its batch here, unless it is there already, and is queued; only waiting for it takes time."""

    torch_device = torch.device("cpu")

    def __init__(self, load_seconds: float, step_seconds: float) -> None:
        self.now = self._done = 0.0
        self._load_seconds, self._step_seconds, self._loaded = load_seconds, step_seconds, False

    def ahead(self) -> None:
        self.now += 0.0 if self._loaded else self._load_seconds
        self._loaded = True

    def step(self) -> torch.Tensor:
        self.ahead()
        self._loaded = False
        self._done = max(self._done, self.now) + self._step_seconds
        return torch.tensor(1.0)

    def synchronize(self) -> None:
        self.now = max(self.now, self._done)

    def check_memory(self) -> None: ...


@pytest.mark.parametrize(("load_seconds", "step_seconds"), [(0.32, 0.1), (0.3, 0.4), (0.03, 0.025)])
def test_what_this_process_loads_while_a_gpu_computes_is_not_added_to_the_run(
    load_seconds: float, step_seconds: float
) -> None:
    queue = Queue(load_seconds, step_seconds)
    timer = SoakTimer(
        queue.step,
        NoEpochs(),
        None,
        queue,
        SilentChannel(),
        lambda: False,
        lambda: queue.now,
        ahead=queue.ahead,  # type: ignore[arg-type]
    )
    soak = timer.run(30.0)[0]
    rates = {round(block.seconds / block.steps, 9) for block in soak.blocks[1:]}
    assert rates == {max(load_seconds, step_seconds)}


def test_a_resident_run_is_cut_into_blocks_of_a_second_that_leave_nothing_out() -> None:
    clockwork = Clockwork(0.01)
    soak = clockwork.soak(10.0)
    assert sum(block.steps for block in soak.blocks) == clockwork.steps
    assert sum(block.seconds for block in soak.blocks) == pytest.approx(soak.blocks[-1].end_seconds)
    assert all(block.seconds == pytest.approx(1.0) for block in soak.blocks[1:])
    assert soak.epochs == ()


def test_the_step_across_an_epoch_s_edge_is_a_block_of_its_own_and_tells_the_pause() -> None:
    soak = Clockwork(0.1, length=25, pause_seconds=0.7).soak(12.0)
    assert [edge.pause_seconds for edge in soak.epochs] == pytest.approx([0.7] * 3)
    assert [edge.at_seconds for edge in soak.epochs] == pytest.approx([2.5, 5.7, 8.9])
    starts = {round(block.end_seconds - block.seconds, 6): block.steps for block in soak.blocks}
    assert all(starts[round(edge.at_seconds, 6)] == 1 for edge in soak.epochs)


def test_epochs_shorter_than_a_block_do_not_make_blocks_of_their_own() -> None:
    soak = Clockwork(0.01, length=5, pause_seconds=0.01).soak(10.0)
    assert soak.epochs == ()
    assert len(soak.blocks) < 15


def test_a_run_that_is_asked_to_end_does_so_after_the_step_it_is_in() -> None:
    clockwork = Clockwork(0.1)
    soak = clockwork.soak(1000.0, lambda: clockwork.steps >= 57)
    assert clockwork.steps == 57
    assert sum(block.steps for block in soak.blocks) == 57


@pytest.fixture
def signal_set_back() -> Iterator[None]:
    before = signal.getsignal(END_SIGNAL)
    yield
    signal.signal(END_SIGNAL, before)


@pytest.mark.usefixtures("signal_set_back")
def test_the_request_to_end_comes_as_a_signal_and_one_that_comes_late_does_no_harm() -> None:
    signal.signal(END_SIGNAL, signal.SIG_DFL)
    with ending_on_request() as asked:
        assert not asked()
        os.kill(os.getpid(), END_SIGNAL)
        assert asked()
    assert signal.getsignal(END_SIGNAL) is signal.SIG_IGN
    os.kill(os.getpid(), END_SIGNAL)


def test_outside_the_main_thread_a_run_goes_on_without_the_signal() -> None:
    seen: list[bool] = []

    def run() -> None:
        with ending_on_request() as asked:
            seen.append(asked())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [False]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(textwrap.dedent(PAUSING))
    return path


def spec_of(job: Path, function: str = "workload", seconds: float = 3.0, **settings: int | bool) -> TrialSpec:
    return TrialSpec(
        kind="soak",
        workload=WorkloadSpec(model=f"{job}:{function}"),
        settings=Settings(batch_size=BATCH, **settings),  # type: ignore[arg-type]
        budget=Budget(seconds=seconds),
        feed=Feed(supply="loader"),
    )


def soaked(spec: TrialSpec) -> tuple[Measurement, Soak]:
    measurement = KINDS["soak"](spec, open_device("cpu"), SilentChannel())
    assert measurement.soak is not None
    return measurement, measurement.soak


@pytest.mark.parametrize("settings", [{"num_workers": 1}, {"num_workers": 1, "persistent_workers": True}])
def test_a_pause_planted_between_epochs_is_found_at_every_edge(job: Path, settings: dict[str, int | bool]) -> None:
    measurement, soak = soaked(spec_of(job, **settings))
    assert soak.epoch_examples == EXAMPLES
    assert soak.epochs
    assert all(edge.pause_seconds > 0.2 for edge in soak.epochs)
    per_epoch = [
        sum(block.steps for block in soak.blocks if a.at_seconds < block.end_seconds <= b.at_seconds + 1e-9)
        for a, b in zip(soak.epochs, soak.epochs[1:], strict=False)
    ]
    assert set(per_epoch) <= {EXAMPLES // BATCH}
    assert measurement.loading is not None
    assert measurement.loading.start_up_seconds is not None


def test_a_stream_is_begun_anew_after_as_many_batches_as_it_has(job: Path) -> None:
    _, soak = soaked(spec_of(job, "stream"))
    assert soak.epoch_examples == EXAMPLES
    assert soak.epochs
    assert all(edge.pause_seconds > 0.2 for edge in soak.epochs)


class PlacedAhead(PlacedSupply):
    """Takes batches for longer than a pause ahead of the step, as one that decodes on a GPU may; the wait is that of
    who asks.
    """

    DEPTH = 3

    def __init__(self, supply: Any, source: Any, settings: Settings, device: torch.device, waits: Stopwatch) -> None:
        super().__init__(supply, source, settings, device, Stopwatch())
        self._timed_by = waits
        self._start()

    def _start(self) -> None:
        one_by_one = (super(PlacedAhead, self).next() for _ in itertools.count())
        self._ahead = Ahead(one_by_one, lambda batch: batch, self.DEPTH)
        self._timed = self._timed_by.around(self._ahead.__next__)

    def next(self) -> Any:
        return self._timed()

    def renew(self) -> None:
        self._ahead.close()
        super().renew()
        self._start()

    def __exit__(self, *raised: object) -> None:
        self._ahead.close()
        super().__exit__(*raised)


def test_whoever_takes_batches_ahead_does_not_begin_an_epoch_before_training_does(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training loop begins to iterate anew once it has had the last batch: the pause is not hidden behind steps."""
    monkeypatch.setattr(soak_kind, "PlacedSupply", PlacedAhead)
    _, soak = soaked(spec_of(job, num_workers=1))
    assert soak.epochs
    assert all(edge.pause_seconds > 0.2 for edge in soak.epochs)
