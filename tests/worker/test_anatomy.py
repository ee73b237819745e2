"""A planted slow phase is found where it was planted, and the other numbers of an anatomy are what they say."""

import gzip
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

from traindyno.analysis import flow_pace
from traindyno.core.anatomy import Anatomy, Phase
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.anatomy import ceilings
from traindyno.worker.devices import open_device
from traindyno.worker.kinds import KINDS
from traindyno.worker.kinds import anatomy as kind
from worker.counted_device import SilentChannel
from worker.data.tiny_sets import write_folder

PLANTED_SECONDS = 0.01
BATCH = 4

JOBS = """
    import time, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from traindyno import Workload

    def slowly():
        time.sleep({planted})

    class Items(Dataset):
        def __init__(self, slow=False):
            self.slow = slow
        def __len__(self):
            return 40
        def __getitem__(self, index):
            if self.slow and index % {batch} == 0:
                slowly()
            return torch.ones(6), index % 2

    class SlowModel(nn.Linear):
        def forward(self, inputs):
            slowly()
            return super().forward(inputs)

    class SlowGradient(torch.autograd.Function):
        @staticmethod
        def forward(context, inputs):
            return inputs.clone()
        @staticmethod
        def backward(context, gradient):
            slowly()
            return gradient

    class SlowBackward(nn.Linear):
        def forward(self, inputs):
            return SlowGradient.apply(super().forward(inputs))

    class SlowOptimizer(torch.optim.SGD):
        made = 0
        def __init__(self, parameters):
            super().__init__(parameters, lr=1e-3)
            SlowOptimizer.made += 1
            assert SlowOptimizer.made == 1, "its state is held twice"
        def step(self, closure=None):
            slowly()
            return super().step(closure)

    class SlowBatch:
        def __init__(self, items):
            self.inputs = torch.stack([inputs for inputs, _ in items])
        def to(self, device):
            slowly()
            return self

    def forward():
        return Workload(model=SlowModel(6, 2), dataset=Items())

    def backward():
        return Workload(model=SlowBackward(6, 2), dataset=Items())

    def optimizer():
        return Workload(model=nn.Linear(6, 2), dataset=Items(), optimizer=SlowOptimizer)

    def load():
        return Workload(model=nn.Linear(6, 2), loader=DataLoader(Items(slow=True), batch_size=2))

    def transfer():
        return Workload(
            model=nn.Linear(6, 2),
            loader=DataLoader(Items(), batch_size=2, collate_fn=SlowBatch),
            training_step=lambda model, batch: model(batch.inputs).sum(),
        )
"""


@pytest.fixture(autouse=True)
def short_work(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    monkeypatch.setattr(flow_pace, "BLOCK_SECONDS", 0.02)
    monkeypatch.setattr(ceilings, "SIZES", {"cpu": (64, 128)})
    monkeypatch.setattr(ceilings, "COPY_BYTES", {"cpu": ceilings.LEAST_COPY_BYTES})


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.py"
    path.write_text(textwrap.dedent(JOBS.format(planted=PLANTED_SECONDS, batch=BATCH)))
    return path


def measure(
    workload: WorkloadSpec, supply: str = "cached", trace: Path | None = None, cold: bool = False, **knobs: Any
) -> Measurement:
    spec = TrialSpec(
        kind="anatomy",
        workload=workload,
        settings=Settings(**{"batch_size": BATCH, **knobs}),
        budget=Budget(seconds=0.3, relative_interval=0.5),
        feed=Feed(supply=supply, cold=cold),  # type: ignore[arg-type]
        trace_path=None if trace is None else str(trace),
    )
    return KINDS["anatomy"](spec, open_device("cpu"), SilentChannel())


def anatomy_of(workload: WorkloadSpec, supply: str = "cached", **others: Any) -> Anatomy:
    anatomy = measure(workload, supply, **others).anatomy
    assert anatomy is not None
    return anatomy


def by_name(anatomy: Anatomy) -> dict[str, Phase]:
    return {phase.phase: phase for phase in anatomy.phases}


@pytest.mark.parametrize(
    ("planted", "supply"),
    [
        ("load", "loader"),
        ("transfer", "loader"),
        ("forward", "cached"),
        ("backward", "cached"),
        ("optimizer", "cached"),
    ],
)
def test_the_slow_phase_is_named(jobs: Path, planted: str, supply: str) -> None:
    anatomy = anatomy_of(WorkloadSpec(model=f"{jobs}:{planted}"), supply)
    phases = by_name(anatomy)
    assert list(phases) == ["load", "transfer", "forward", "backward", "optimizer", "other"]
    slowest = max(anatomy.phases, key=lambda phase: phase.seconds)
    assert slowest.phase == planted
    assert slowest.seconds >= PLANTED_SECONDS
    assert slowest.host_seconds >= PLANTED_SECONDS
    assert slowest.ci95[0] <= slowest.seconds <= slowest.ci95[1]


def test_named_phases_make_up_the_step_and_the_instruments_cost_little(jobs: Path) -> None:
    anatomy = anatomy_of(WorkloadSpec(model=f"{jobs}:forward"))
    named = sum(phase.seconds for phase in anatomy.phases if phase.phase != "other")
    assert named > 0.9 * PLANTED_SECONDS
    assert named > 0.8 * anatomy.instrumented_step_seconds
    assert anatomy.plain_step_seconds >= PLANTED_SECONDS
    low, high = anatomy.instrument_cost_ci95
    assert low <= anatomy.instrument_cost <= high
    assert low < 0.1


@pytest.mark.parametrize("planted", ["forward", "load"])
def test_inference_has_no_backward_and_no_optimiser(jobs: Path, planted: str) -> None:
    anatomy = anatomy_of(WorkloadSpec(model=f"{jobs}:{planted}", mode="infer"), "loader")
    assert list(by_name(anatomy)) == ["load", "transfer", "forward", "other"]
    slowest = max(anatomy.phases, key=lambda phase: phase.seconds)
    assert (slowest.phase, slowest.seconds >= PLANTED_SECONDS) == (planted, True)


def test_what_the_host_waits_for_a_slow_loader_is_told_apart(jobs: Path) -> None:
    measurement = measure(WorkloadSpec(model=f"{jobs}:load"), "loader")
    assert measurement.anatomy is not None
    assert measurement.anatomy.load_wait_seconds >= 0.9 * PLANTED_SECONDS
    assert measurement.loading is not None
    assert measurement.loading.wait_seconds == measurement.anatomy.load_wait_seconds
    assert measurement.loading.start_up_seconds is not None


def test_the_measurement_is_that_of_the_step_without_instruments(jobs: Path) -> None:
    measurement = measure(WorkloadSpec(model=f"{jobs}:forward"))
    anatomy = measurement.anatomy
    assert anatomy is not None
    assert measurement.step_seconds == anatomy.plain_step_seconds
    assert measurement.ci95 == anatomy.plain_ci95
    assert measurement.loss is not None
    assert measurement.examples_in_data == 40


def test_every_part_of_an_accumulated_step_counts(jobs: Path) -> None:
    phases = by_name(anatomy_of(WorkloadSpec(model=f"{jobs}:forward"), accumulation_steps=2))
    assert phases["forward"].seconds >= 2 * PLANTED_SECONDS


@pytest.mark.parametrize("knobs", [{"optimizer_kernel": "fused"}, {"precision": "bf16"}, {"read_metrics": True}])
def test_settings_apply_to_a_step_that_is_taken_apart(jobs: Path, knobs: dict[str, Any]) -> None:
    assert by_name(anatomy_of(WorkloadSpec(model=f"{jobs}:forward"), **knobs))["optimizer"].seconds > 0


def test_on_a_cpu_nothing_is_queued_and_nothing_travels(jobs: Path) -> None:
    anatomy = anatomy_of(WorkloadSpec(model=f"{jobs}:forward"))
    assert anatomy.host_step_seconds is None
    assert anatomy.busy_seconds is None
    assert anatomy.transfers == ()


def test_a_step_is_counted_and_the_machine_has_ceilings(jobs: Path) -> None:
    work = anatomy_of(WorkloadSpec(model=f"{jobs}:forward")).work
    forward_and_gradient_of_weights = 2 * (2 * BATCH * 6 * 2)
    assert work.flops_per_step == forward_and_gradient_of_weights
    assert work.bytes_per_step is not None
    assert work.bytes_per_step > 0
    assert work.flops_per_second_ceiling is not None
    assert work.flops_per_second_ceiling > 1e8
    assert work.bytes_per_second_ceiling is not None
    assert work.bytes_per_second_ceiling > 1e8
    assert work.uncounted_because is None


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_shows_the_phases_and_the_operations_in_them(jobs: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    measurement = measure(WorkloadSpec(model=f"{jobs}:forward"), trace=path)
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    events = json.loads(content)["traceEvents"]
    names = [event.get("name") for event in events if event.get("ph") == "X"]
    assert all(names.count(phase) == 3 for phase in ("load", "transfer", "forward", "backward"))
    (forward, *_) = [event for event in events if event.get("name") == "forward" and event.get("ph") == "X"]
    assert forward["dur"] >= PLANTED_SECONDS * 1e6
    assert "aten::linear" in names
    assert measurement.notes == ()


def test_a_trace_that_cannot_be_written_does_not_cost_the_measurement(jobs: Path, tmp_path: Path) -> None:
    measurement = measure(WorkloadSpec(model=f"{jobs}:forward"), trace=tmp_path / "missing" / "trace.json.gz")
    assert measurement.anatomy is not None
    assert "no trace was written" in measurement.notes[0]


def refusing(error: Exception) -> Any:
    def refused(*_: object) -> None:
        raise error

    return refused


@pytest.mark.parametrize(
    ("part", "note"),
    [
        ("furnish", "what a step computes was not counted"),
        ("flops_per_second_ceiling", "the most that the device computes is not known"),
        ("bytes_per_second_ceiling", "the most that the device moves is not known"),
        ("time_transfers", "how long a batch takes to the device is not known"),
        ("write_trace", "no trace was written"),
    ],
)
@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), LookupError("not this name")])
def test_what_fails_after_the_timing_leaves_a_note_and_everything_else(
    monkeypatch: pytest.MonkeyPatch, jobs: Path, tmp_path: Path, part: str, note: str, error: Exception
) -> None:
    monkeypatch.setattr(kind, part, refusing(error))
    measurement = measure(WorkloadSpec(model=f"{jobs}:load"), trace=tmp_path / "trace.json")
    assert measurement.notes == (f"{note}: {type(error).__name__}: {error}",)
    assert measurement.anatomy is not None
    work = measurement.anatomy.work
    assert (work.flops_per_step is None) == (part == "furnish") == (work.uncounted_because is not None)
    assert (work.flops_per_second_ceiling is None) == (part == "flops_per_second_ceiling")
    assert (work.bytes_per_second_ceiling is None) == (part == "bytes_per_second_ceiling")


def test_a_known_model_on_a_folder_of_images_cold_data_too(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(40)])
    workload = WorkloadSpec(model="torchvision:squeezenet1_1", data=f"folder:{folder}", image_size=32)
    anatomy = anatomy_of(workload, "loader", cold=True, trace=tmp_path / "trace.json")
    assert set(by_name(anatomy)) == {"load", "transfer", "forward", "backward", "optimizer", "other"}
    assert anatomy.work.flops_per_step is not None
