"""A step on a GPU taken apart, in a process of its own; the phases are those of the GPU's timeline."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from traindyno.core.anatomy import Anatomy
from traindyno.core.events import TrialProgress
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from worker.data.tiny_sets import write_folder

pytestmark = pytest.mark.gpu

PLANTED_SECONDS = 0.02
JOBS = """
    import time, torch
    from torch import nn
    from torch.utils.data import Dataset
    from traindyno import Workload

    class Items(Dataset):
        def __init__(self, numbers=64):
            self.numbers = numbers
        def __len__(self):
            return 4096
        def __getitem__(self, index):
            return torch.ones(self.numbers), index % 2

    class Sleeping(nn.Linear):
        def forward(self, inputs):
            time.sleep({planted})
            return super().forward(inputs)

    class SlowOptimizer(torch.optim.SGD):
        def __init__(self, parameters):
            super().__init__(parameters, lr=1e-3)
        def step(self, closure=None):
            time.sleep({planted})
            return super().step(closure)

    class FirstOnly(nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs[:, :64])

    def forward():
        return Workload(model=Sleeping(64, 2), dataset=Items())

    def optimizer():
        return Workload(model=nn.Linear(64, 2), dataset=Items(), optimizer=SlowOptimizer)

    def transfer():
        return Workload(model=FirstOnly(64, 2), dataset=Items(numbers=1 << 17))
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    yield runner
    runner.close()


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.py"
    path.write_text(textwrap.dedent(JOBS.format(planted=PLANTED_SECONDS)))
    return path


@pytest.fixture
def images(tmp_path: Path) -> str:
    return f"folder:{write_folder(tmp_path / 'images', [f'class{index % 3}/{index}.jpg' for index in range(64)])}"


def measure(
    runner: LocalRunner,
    workload: WorkloadSpec,
    supply: str = "cached",
    trace: Path | None = None,
    watcher: Watcher | None = None,
    **knobs: Any,
) -> Measurement:
    spec = TrialSpec(
        kind="anatomy",
        workload=workload,
        settings=Settings(**{"batch_size": 64, "device": "cuda:0", "num_workers": 2, "pin_memory": True, **knobs}),
        budget=Budget(seconds=5.0),
        feed=Feed(supply=supply),  # type: ignore[arg-type]
        trace_path=None if trace is None else str(trace),
    )
    record = runner.run(spec, watcher or Watcher(), None)
    assert record.measurement is not None, record.failure
    assert record.measurement.anatomy is not None
    return record.measurement


def anatomy_of(*arguments: Any, **others: Any) -> Anatomy:
    anatomy = measure(*arguments, **others).anatomy
    assert anatomy is not None
    return anatomy


def seconds_of(anatomy: Anatomy) -> dict[str, float]:
    return {phase.phase: phase.seconds for phase in anatomy.phases}


def resnet(images: str, mode: Any = "train") -> WorkloadSpec:
    return WorkloadSpec(model="torchvision:resnet50", data=images, mode=mode)


def check_whole(anatomy: Anatomy) -> None:
    """Steps without instruments are other ones: on a noisy host they differ. step_tables.sh compares them closely."""
    seconds = seconds_of(anatomy)
    named = sum(taken for phase, taken in seconds.items() if phase != "other")
    assert named >= 0.97 * sum(seconds.values())
    assert named == pytest.approx(anatomy.plain_step_seconds, rel=0.25)
    assert anatomy.instrument_cost_ci95[0] < 0.01
    assert anatomy.busy_seconds is not None
    assert 0 < anatomy.busy_seconds <= 1.25 * anatomy.plain_step_seconds
    assert anatomy.host_step_seconds is not None
    assert anatomy.host_step_seconds > 0


@pytest.mark.parametrize("knobs", [{}, {"precision": "bf16", "memory_format": "channels_last"}])
def test_the_phases_make_up_the_step_of_a_resnet(runner: LocalRunner, images: str, knobs: dict[str, Any]) -> None:
    anatomy = anatomy_of(runner, resnet(images), **knobs)
    check_whole(anatomy)
    work = anatomy.work
    assert work.flops_per_step is not None
    assert work.flops_per_step == pytest.approx(64 * 3 * 2 * 4.09e9, rel=0.05)
    assert work.flops_per_second_ceiling is not None
    assert work.bytes_per_second_ceiling is not None
    assert work.flops_per_step / anatomy.plain_step_seconds < work.flops_per_second_ceiling
    assert work.bytes_per_step is not None


def test_the_phases_make_up_a_compiled_step(runner: LocalRunner, images: str) -> None:
    anatomy = anatomy_of(runner, resnet(images), precision="bf16", compile="reduce-overhead")
    check_whole(anatomy)
    assert anatomy.work.flops_per_step is not None
    assert anatomy.work.bytes_per_step is None
    assert anatomy.work.uncounted_because is not None


def test_inference_is_loading_moving_and_forward(runner: LocalRunner, images: str) -> None:
    anatomy = anatomy_of(runner, resnet(images, "infer"))
    check_whole(anatomy)
    assert list(seconds_of(anatomy)) == ["load", "transfer", "forward", "other"]


@pytest.mark.parametrize("planted", ["forward", "optimizer"])
def test_a_host_asleep_is_found_in_its_phase_with_an_idle_gpu(runner: LocalRunner, jobs: Path, planted: str) -> None:
    anatomy = anatomy_of(runner, WorkloadSpec(model=f"{jobs}:{planted}"))
    seconds = seconds_of(anatomy)
    assert max(seconds, key=seconds.__getitem__) == planted
    assert seconds[planted] >= 0.9 * PLANTED_SECONDS
    assert anatomy.busy_seconds is not None
    assert anatomy.busy_seconds < 0.5 * anatomy.plain_step_seconds
    assert anatomy.host_step_seconds is not None
    assert anatomy.host_step_seconds >= PLANTED_SECONDS


def test_a_pageable_copy_is_named_and_slower_than_a_pinned_one(runner: LocalRunner, jobs: Path) -> None:
    anatomy = anatomy_of(runner, WorkloadSpec(model=f"{jobs}:transfer"), pin_memory=False, num_workers=0)
    seconds = seconds_of(anatomy)
    assert max(seconds, key=seconds.__getitem__) == "transfer"
    pageable, pinned = anatomy.transfers
    assert (pageable.pinned, pinned.pinned) == (False, True)
    assert pageable.bytes == pinned.bytes == 64 * ((1 << 17) * 4 + 8)
    assert pageable.seconds > pinned.seconds


def test_a_slow_loader_is_a_stall_of_the_gpu_and_a_wait_of_the_host(runner: LocalRunner, jobs: Path) -> None:
    anatomy = anatomy_of(runner, WorkloadSpec(model=f"{jobs}:transfer"), "loader", num_workers=0)
    seconds = seconds_of(anatomy)
    assert max(seconds, key=seconds.__getitem__) == "load"
    assert anatomy.load_wait_seconds > 0.5 * seconds["load"]


def test_a_gpu_with_much_to_do_does_not_stall_for_batches_that_are_there(runner: LocalRunner, images: str) -> None:
    seconds = seconds_of(anatomy_of(runner, resnet(images)))
    assert seconds["load"] < 0.05 * sum(seconds.values())


def test_a_step_that_waits_for_the_gpu_cannot_tell_how_long_it_is_queued(runner: LocalRunner, images: str) -> None:
    measurement = measure(runner, resnet(images), read_metrics=True)
    assert measurement.anatomy is not None
    assert measurement.anatomy.host_step_seconds is None
    assert any("the host waits for the GPU in every step" in note for note in measurement.notes)


@pytest.mark.parametrize("decoder", ["pil", "nvjpeg"])
def test_a_trace_shows_the_kernels(runner: LocalRunner, images: str, tmp_path: Path, decoder: str) -> None:
    path = tmp_path / "trace.json"
    anatomy = anatomy_of(runner, resnet(images), "loader", path, decoder=decoder, batch_size=16)
    assert '"kernel"' in path.read_text()
    assert bool(anatomy.transfers) == (decoder == "pil")


def test_the_host_is_timed_before_a_profiler_has_been_there(runner: LocalRunner, jobs: Path) -> None:
    class Phases(Watcher):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def progress(self, progress: TrialProgress) -> None:
            self.seen.append(progress.phase)

    phases = Phases()
    measure(runner, WorkloadSpec(model=f"{jobs}:forward"), watcher=phases)
    assert phases.seen.index("queueing") < phases.seen.index("profile")
