"""A step that takes a fresh batch each time does what a hand-written loop over batches does."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import Job, build_job
from traindyno.worker.steps import make_fed_step

JOB = """
import torch
from torch import nn
from traindyno import Workload

def workload():
    torch.manual_seed(7)
    return Workload(model=nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), example_input=torch.zeros(6))
"""


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    while True:
        yield torch.randn(5, 6, generator=generator), torch.randint(3, (5,), generator=generator)


@pytest.fixture
def workload(tmp_path: Path) -> WorkloadSpec:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return WorkloadSpec(model=f"{path}:workload")


def fed(workload: WorkloadSpec, next_batch: Callable[[], object], **settings: str) -> tuple[Job, Callable[[], object]]:
    job = build_job(workload)
    knobs = Settings(batch_size=5, **settings)  # type: ignore[arg-type]
    return job, make_fed_step(job, next_batch, workload, knobs, CpuDevice())


def test_losses_are_those_of_a_plain_loop_over_the_same_batches(workload: WorkloadSpec) -> None:
    _, step = fed(workload, batches().__next__)
    losses = [step().item() for _ in range(10)]  # type: ignore[attr-defined]
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    expected = []
    for (inputs, targets), _ in zip(batches(), range(10), strict=False):
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    assert losses == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_applies_to_every_batch(workload: WorkloadSpec, precision: str) -> None:
    job, step = fed(workload, batches().__next__, precision=precision)
    seen = []
    job.model[0].register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    step()
    step()
    assert seen == [torch.bfloat16 if precision == "bf16" else torch.float16] * 2


def test_inference_takes_a_fresh_batch_each_time_and_changes_nothing(workload: WorkloadSpec) -> None:
    given = []
    supply = batches()

    def next_batch() -> object:
        given.append(next(supply))
        return given[-1]

    infer = WorkloadSpec(model=workload.model, mode="infer")
    job, step = fed(infer, next_batch)
    before = [parameter.clone() for parameter in job.model.parameters()]
    step()
    step()
    assert len(given) == 2
    assert all(torch.equal(old, new) for old, new in zip(before, job.model.parameters(), strict=True))
