"""The step does what a hand-written loop does."""

import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import build_job
from traindyno.worker.steps import make_evaluation_step, make_step

JOB = """
    import torch
    from torch import nn
    from traindyno import Workload

    def workload():
        torch.manual_seed(7)
        model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        def batch(size):
            generator = torch.Generator().manual_seed(3)
            return torch.randn(size, 3, 2, 2, generator=generator), torch.arange(size) % 3
        return Workload(model=model, example_input=batch)
"""


@pytest.fixture
def workload(tmp_path: Path) -> WorkloadSpec:
    path = tmp_path / "job.py"
    path.write_text(textwrap.dedent(JOB))
    return WorkloadSpec(model=f"{path}:workload")


def by_hand(steps: int) -> tuple[list[float], nn.Module]:
    torch.manual_seed(7)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(6, 3, 2, 2, generator=torch.Generator().manual_seed(3))
    labels = torch.arange(6) % 3
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def test_training_steps_give_the_losses_and_weights_of_a_plain_loop(workload: WorkloadSpec) -> None:
    device, settings = CpuDevice(), Settings(batch_size=6)
    job = build_job(workload)
    batch = job.batch(6, device.torch_device, 0)
    step = make_step(job, batch, workload, settings, device)
    losses = [step().item() for _ in range(20)]  # type: ignore[union-attr]
    expected, model = by_hand(20)
    assert losses == pytest.approx(expected, abs=1e-6)
    for ours, theirs in zip(job.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_computes_in_that_precision_and_still_learns(workload: WorkloadSpec, precision: str) -> None:
    device, settings = CpuDevice(), Settings(batch_size=6, precision=precision)  # type: ignore[arg-type]
    job = build_job(workload)
    seen = []
    job.model[1].register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    step = make_step(job, job.batch(6, device.torch_device, 0), workload, settings, device)
    losses = [step().item() for _ in range(100)]  # type: ignore[union-attr]
    assert set(seen) == {torch.bfloat16 if precision == "bf16" else torch.float16}
    assert losses[-1] < losses[0]


def test_an_evaluation_step_changes_nothing(workload: WorkloadSpec) -> None:
    device = CpuDevice()
    job = build_job(workload)
    before = {name: value.clone() for name, value in job.model.state_dict().items()}
    make_evaluation_step(job, job.batch(6, device.torch_device, 0), Settings(batch_size=6), device)()
    for name, value in job.model.state_dict().items():
        torch.testing.assert_close(value, before[name])


def test_no_half_precision_step_leaves_out_its_update(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(
        "import torch\nfrom traindyno import Workload\n"
        "def workload():\n"
        "    steep = lambda model, batch: model(batch).sum()\n"
        "    return Workload(model=torch.nn.Linear(4, 2), example_input=torch.ones(4), training_step=steep)\n"
    )
    workload = WorkloadSpec(model=f"{path}:workload")
    device, settings = CpuDevice(), Settings(batch_size=6, precision="fp16")
    job = build_job(workload)
    before = job.model.weight.detach().clone()
    make_step(job, job.batch(6, device.torch_device, 0), workload, settings, device)()
    assert not torch.equal(job.model.weight, before)
