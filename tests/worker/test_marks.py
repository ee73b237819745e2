"""Marks tell where each phase of a step begins, and a step without marks is the plain one."""

import pytest
import torch

from traindyno.core.anatomy import PhaseName
from traindyno.core.records import Mode
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import build_job
from traindyno.worker.steps import Step, make_fed_step, make_step
from worker.knobs.benches import BATCH, bench_of, losses_of, spec_of
from worker.knobs.small_jobs import batch


class Told:
    def __init__(self) -> None:
        self.phases: list[str] = []

    def mark(self, phase: PhaseName) -> None:
        self.phases.append(phase)


def steps(told: Told, mode: Mode = "train", **knobs: object) -> tuple[Step, Step]:
    """On a resident batch, and on fed ones."""
    spec, device = spec_of(mode=mode, **knobs), CpuDevice()
    job = build_job(spec.workload)

    def next_batch() -> tuple[torch.Tensor, torch.Tensor]:
        told.mark("transfer")
        return batch(BATCH)

    resident = make_step(job, batch(BATCH), spec.workload, spec.settings, device, told)
    return resident, make_fed_step(job, next_batch, spec.workload, spec.settings, device, told)


def test_phases_of_training_come_in_the_order_of_a_plain_loop() -> None:
    told = Told()
    resident, fed = steps(told)
    resident()
    assert told.phases == ["optimizer", "forward", "backward", "optimizer", "other"]
    told.phases.clear()
    fed()
    assert told.phases == ["optimizer", "load", "transfer", "forward", "backward", "optimizer", "other"]


def test_parts_of_a_batch_have_phases_of_their_own() -> None:
    told = Told()
    _, fed = steps(told, accumulation_steps=2)
    fed()
    assert told.phases[3:] == ["forward", "backward", "forward", "backward", "optimizer", "other"]


def test_inference_loads_and_goes_forward() -> None:
    told = Told()
    resident, fed = steps(told, mode="infer")
    resident()
    fed()
    assert told.phases == ["forward", "other", "load", "transfer", "forward", "other"]


def test_a_step_without_marks_gives_the_losses_of_one_with_them() -> None:
    torch.manual_seed(0)
    resident, _ = steps(Told())
    assert [float(loss.detach()) for loss in (resident(), resident()) if loss is not None] == losses_of(bench_of(), 2)


def test_the_loss_is_read_on_the_host_after_every_step_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[torch.Tensor] = []
    monkeypatch.setattr(torch.Tensor, "item", lambda tensor: read.append(tensor) or 0.0)
    silent, reading = bench_of(), bench_of(read_metrics=True)
    silent.step()
    assert read == []
    losses = [reading.step() for _ in range(3)]
    assert [id(loss) for loss in losses] == [id(loss) for loss in read]
