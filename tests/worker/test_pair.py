"""Two settings in two processes that take turns, through the real runner, on jobs whose cost is known."""

import textwrap
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from keepers import Keepers
from traindyno.core.codec import decode, encode
from traindyno.core.events import TrialProgress
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Measurement, Pair, Settings, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

SECONDS_PER_EXAMPLE = 0.001
HELD_BYTES = 256 << 20
RESIDENT = Feed(supply="resident")

JOB = f"""
    import os, time, torch
    from pathlib import Path
    from torch import nn
    from torch.utils.data import TensorDataset
    from traindyno import Workload
    from traindyno.worker import timing

    torch.set_num_threads(1)
    FOLDER = Path(__file__).parent
    REAL = time.monotonic

    class Clock:
        '''An arm's time is that of its steps alone, whatever else the machine does.'''
        now = 0.0

    time.monotonic = lambda: Clock.now
    for timed in (timing.time_block, timing.time_steps):
        timed.__defaults__ = tuple(time.monotonic if each is REAL else each for each in timed.__defaults__)

    class Known(nn.Module):
        '''Takes a known time per example; notes when it computed; of a batch of 6 it may hold memory besides.'''

        def __init__(self, holds=False):
            super().__init__()
            self.layer = nn.Linear(6, 2)
            self.holds, self.held = holds, None

        def forward(self, x):
            start = REAL()
            if self.holds and self.held is None and len(x) == 6:
                self.held = torch.ones({HELD_BYTES} // 4)
            Clock.now += {SECONDS_PER_EXAMPLE} * len(x)
            result = self.layer(x)
            with open(FOLDER / "computed.log", "a") as log:
                print(os.getpid(), len(x), start, REAL(), float(x.sum()), float(self.layer.weight.sum()),
                      file=log)
            return result

    def sleeps():
        return Workload(model=Known(), example_input=torch.zeros(6))

    def holds_memory():
        return Workload(model=Known(holds=True), example_input=torch.zeros(6))

    def has_data():
        return Workload(model=Known(), dataset=TensorDataset(torch.rand(64, 6), torch.zeros(64, dtype=torch.long)))
"""


class Listener(Watcher):
    def __init__(self) -> None:
        self.phases: list[str] = []

    def progress(self, progress: TrialProgress) -> None:
        if progress.phase not in self.phases[-1:]:
            self.phases.append(progress.phase)


class Taken(NamedTuple):
    """One pair, what its steps noted, and the phases that were heard."""

    measurement: Measurement
    pair: Pair
    steps: list[dict[str, float]]
    phases: list[str]


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write_job(tmp_path)


@pytest.fixture(scope="module")
def three_times_as_fast(runner: LocalRunner, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """A candidate that needs a third of the baseline's time."""
    return take(runner, write_job(tmp_path_factory.mktemp("pair")), baseline=12, candidate=4)


def write_job(folder: Path) -> Path:
    path = folder / "job.py"
    path.write_text(textwrap.dedent(JOB))
    return path


def take(
    runner: LocalRunner, job: Path, function: str = "sleeps", feed: Feed = RESIDENT, *, baseline: int, candidate: int
) -> Taken:
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model=f"{job}:{function}"),
        settings=Settings(batch_size=candidate),
        against=Settings(batch_size=baseline),
        budget=Budget(seconds=0.5, relative_interval=0.5),
        feed=feed,
    )
    listener = Listener()
    record = runner.run(spec, listener, None)
    assert record.outcome is Outcome.OK, record.failure
    assert record.measurement is not None
    assert record.measurement.pair is not None
    return Taken(record.measurement, record.measurement.pair, noted(job), listener.phases)


def noted(job: Path) -> list[dict[str, float]]:
    names = ("pid", "batch_size", "start", "end", "inputs", "weights")
    lines = (job.parent / "computed.log").read_text().splitlines()
    return [dict(zip(names, map(float, line.split()), strict=True)) for line in lines]


def test_a_candidate_that_needs_a_third_of_the_time_is_three_times_as_fast(three_times_as_fast: Taken) -> None:
    pair = three_times_as_fast.pair
    assert pair.ratio == pytest.approx(3)
    assert pair.ci95 == pytest.approx((3, 3))
    assert pair.baseline.step_seconds == pytest.approx(12 * SECONDS_PER_EXAMPLE)
    assert pair.candidate.step_seconds == pytest.approx(4 * SECONDS_PER_EXAMPLE)
    assert len(pair.turns) >= 4
    assert all(baseline > candidate for baseline, candidate in pair.turns)


def test_the_measurement_is_the_candidates_and_survives_being_written_down(three_times_as_fast: Taken) -> None:
    measurement, arm = three_times_as_fast.measurement, three_times_as_fast.pair.candidate
    assert measurement.batch_size == 4
    assert measurement.step_seconds == arm.step_seconds
    assert measurement.memory == arm.memory
    assert measurement.warm_up_steps == arm.warm_up_steps > 0
    assert measurement.first_step_seconds == arm.first_step_seconds == pytest.approx(4 * SECONDS_PER_EXAMPLE)
    assert measurement.loss == arm.loss is not None
    assert decode(encode(measurement), Measurement) == measurement


def test_every_step_is_either_the_first_or_of_the_warm_up_or_in_a_counted_block(three_times_as_fast: Taken) -> None:
    measurement = three_times_as_fast.measurement
    done = sum(step["batch_size"] == 4 for step in three_times_as_fast.steps)
    assert 1 + measurement.warm_up_steps + measurement.steps == done


def test_only_one_arm_computes_at_any_moment_and_the_turns_alternate(three_times_as_fast: Taken) -> None:
    in_time = sorted(three_times_as_fast.steps, key=lambda step: step["start"])
    assert len({step["pid"] for step in in_time}) == 2
    assert all(before["end"] <= after["start"] for before, after in pairwise(in_time))
    sides = ["A" if step["batch_size"] == 12 else "B" for step in in_time]
    assert "".join(side for side, _ in groupby(sides)).startswith("ABABABAB")


def test_progress_names_the_arm_and_its_phase(three_times_as_fast: Taken) -> None:
    own = ["device", "model", "data", "first step", "warm-up"]
    assert three_times_as_fast.phases == [
        *(f"baseline: {phase}" for phase in own),
        *(f"candidate: {phase}" for phase in own),
        "turns",
    ]


def test_equal_settings_are_equally_fast_and_begin_with_the_same_weights_and_batch(
    runner: LocalRunner, job: Path
) -> None:
    _, pair, steps, _ = take(runner, job, baseline=8, candidate=8)
    assert pair.ratio == pytest.approx(1)
    first_of_each = {step["pid"]: step for step in reversed(steps)}.values()
    assert len(first_of_each) == 2
    assert len({(step["inputs"], step["weights"]) for step in first_of_each}) == 1


def test_the_memory_of_an_arm_is_its_own_and_a_slower_candidate_has_a_ratio_below_one(
    runner: LocalRunner, job: Path
) -> None:
    pair = take(runner, job, "holds_memory", baseline=2, candidate=6).pair
    difference = pair.candidate.memory.peak_bytes - pair.baseline.memory.peak_bytes
    assert 0.9 * HELD_BYTES < difference < 1.3 * HELD_BYTES
    assert pair.ratio == pytest.approx(1 / 3)


def test_finished_batches_from_host_memory_can_feed_both_arms(runner: LocalRunner, job: Path) -> None:
    measurement, pair, steps, _ = take(runner, job, "has_data", Feed(supply="cached"), baseline=12, candidate=4)
    assert pair.ratio == pytest.approx(3)
    assert measurement.loading is not None
    assert measurement.loading.batch_bytes == 4 * (6 * 4 + 8)
    assert measurement.examples_in_data == 64
    assert len({step["inputs"] for step in steps}) > 2


@pytest.mark.slow
def test_a_spawned_trial_measures_a_pair_too(job: Path) -> None:
    runner = LocalRunner(WORKER_ENTRY, Deadlines(), spawn=True)
    try:
        assert take(runner, job, baseline=12, candidate=4).pair.ratio == pytest.approx(3)
    finally:
        runner.close()


@pytest.mark.gpu
def test_on_a_gpu_half_precision_needs_less_memory_and_each_arm_knows_its_own() -> None:
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model="torchvision:resnet18"),
        settings=Settings(batch_size=64, device="cuda:0", precision="bf16"),
        against=Settings(batch_size=64, device="cuda:0"),
        budget=Budget(seconds=5),
    )
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        record = runner.run(spec, Watcher(), None)
    finally:
        runner.close()
    assert record.measurement is not None, record.failure
    pair = record.measurement.pair
    assert pair is not None
    assert pair.ci95[0] <= pair.ratio <= pair.ci95[1]
    assert 0 < pair.candidate.memory.peak_bytes < 0.9 * pair.baseline.memory.peak_bytes
    of_baseline, of_candidate = pair.baseline.memory.limit_bytes, pair.candidate.memory.limit_bytes
    assert of_baseline is not None
    assert of_candidate is not None
    assert of_candidate < of_baseline, "what the first arm holds is not free for the second"
