"""A short training tells every loss, and the same ones again from the same seed."""

import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from traindyno.core.errors import UsageError
from traindyno.core.records import Block, Budget, Measurement, Mode, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.data.loadable import Loadable
from traindyno.worker.devices import open_device
from traindyno.worker.errors import DataError
from traindyno.worker.kinds import KINDS
from traindyno.worker.kinds import losses as kind_losses
from traindyno.worker.steps import NonfiniteLossError
from worker.counted_device import SilentChannel
from worker.data.tiny_sets import write_folder

pytestmark = pytest.mark.usefixtures("one_thread")

JOBS = """
    import random
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from traindyno import Workload

    class Noisy(Dataset):
        def __len__(self):
            return 40
        def __getitem__(self, index):
            return torch.randn(6) + random.random(), index % 3

    def model():
        return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))

    def synthetic():
        example = torch.linspace(-1, 1, 6), torch.tensor(1)
        return Workload(model=model(), example_input=example)

    def at_most_eight():
        seen = set()
        def step(model, batch):
            seen.add(batch.sum().item())
            assert len(seen) <= 8
            return model(batch).square().mean()
        return Workload(model=model(), example_input=torch.linspace(-1, 1, 6), training_step=step)

    def dataset():
        return Workload(model=model(), dataset=Noisy())

    def loader():
        return Workload(model=model(), loader=DataLoader(Noisy(), batch_size=2, shuffle=True))

    def of_images():
        return Workload(model=nn.Sequential(nn.Flatten(), nn.Linear(192, 2)))

    def without_targets():
        layers = nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.0), nn.Linear(32, 3)
        return Workload(model=nn.Sequential(*layers), example_input=torch.linspace(-1, 1, 6))

    def scaled():
        def check(gradient):
            assert gradient.item() == 1024
        def step(model, batch):
            loss = model(batch).float().square().mean()
            loss.register_hook(check)
            return loss
        return Workload(model=model(), example_input=torch.linspace(-1, 1, 6), training_step=step)

    def diverging():
        def step(model, batch):
            return model(batch).sum() * float("inf")
        return Workload(model=model(), example_input=torch.ones(6), training_step=step)
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.py"
    path.write_text(textwrap.dedent(JOBS))
    return path


def losses(workload: WorkloadSpec, seed: int = 0, steps: int = 40, **knobs: object) -> Measurement:
    spec = TrialSpec(
        kind="losses",
        workload=workload,
        settings=Settings(batch_size=4, **knobs),  # type: ignore[arg-type]
        budget=Budget(steps=steps),
        seed=seed,
    )
    return KINDS["losses"](spec, open_device("cpu"), SilentChannel())


def job(jobs: Path, name: str, mode: Mode = "train") -> WorkloadSpec:
    return WorkloadSpec(model=f"{jobs}:{name}", mode=mode)


def test_known_data_gives_the_same_losses_from_any_number_of_workers(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_folder(tmp_path / "images", [f"{label}/{number}.jpg" for label in "ab" for number in range(4)])
    workload = WorkloadSpec(model=f"{jobs}:of_images", data=f"folder:{data}", image_size=8)
    told = []
    for cpus in (1, 2, 3):
        monkeypatch.setattr(
            "traindyno.worker.kinds.losses.usable_cpus", lambda value=cpus: SimpleNamespace(value=value)
        )
        told.append(losses(workload).losses)
    assert told[0] == told[1] == told[2]


def test_workers_that_end_for_want_of_shared_memory_are_done_without(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_folder(tmp_path / "images", [f"{label}/{number}.jpg" for label in "ab" for number in range(4)])
    workload = WorkloadSpec(model=f"{jobs}:of_images", data=f"folder:{data}", image_size=8)
    without, taken = losses(workload).losses, kind_losses._taken

    def full(source: Loadable, settings: Settings, spec: TrialSpec) -> list[Any]:
        if settings.num_workers:
            raise DataError("No space left on device")
        return taken(source, settings, spec)

    monkeypatch.setattr(kind_losses, "_taken", full)
    monkeypatch.setattr(kind_losses, "usable_cpus", lambda: SimpleNamespace(value=2))
    assert losses(workload).losses == without


@pytest.mark.parametrize("name", ["synthetic", "dataset", "loader"])
def test_equal_seeds_give_equal_losses_and_others_do_not(jobs: Path, name: str) -> None:
    first, again, other = (losses(job(jobs, name), seed).losses for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert len(first) == 40


def test_workers_and_pinning_do_not_change_the_batches(jobs: Path) -> None:
    plain = losses(job(jobs, "dataset"))
    assert losses(job(jobs, "dataset"), num_workers=2, persistent_workers=True).losses == plain.losses


def test_the_batches_are_a_cycle_of_eight_and_are_learnt(jobs: Path) -> None:
    told = losses(job(jobs, "at_most_eight"), steps=100)
    assert len(set(told.losses[:8])) == 8
    assert sum(told.losses[-8:]) < 0.9 * sum(told.losses[:8])
    assert told.loss == told.losses[-1]
    assert sum(block.steps for block in told.blocks) == 100


def test_known_data_is_loaded_and_learnt(jobs: Path, tmp_path: Path) -> None:
    data = write_folder(tmp_path / "images", [f"{label}/{number}.jpg" for label in "ab" for number in range(4)])
    workload = WorkloadSpec(model=f"{jobs}:of_images", data=f"folder:{data}", image_size=8)
    told = losses(workload, steps=20)
    assert told.losses == losses(workload, steps=20).losses
    assert told.losses[-1] < told.losses[0]
    assert told.examples_in_data == 8


@pytest.mark.parametrize("knobs", [{"accumulation_steps": 2}, {"memory_format": "channels_last"}], ids=str)
def test_knobs_that_only_change_the_way_keep_the_losses(jobs: Path, knobs: dict[str, object]) -> None:
    assert losses(job(jobs, "synthetic"), **knobs).losses == pytest.approx(
        losses(job(jobs, "synthetic")).losses, rel=1e-4
    )


@pytest.mark.parametrize("knobs", [{"accumulation_steps": 2}, {"activation_checkpointing": True}], ids=str)
def test_a_target_that_is_made_up_is_the_same_in_every_setting(jobs: Path, knobs: dict[str, object]) -> None:
    plain = losses(job(jobs, "without_targets"), steps=10).losses
    assert losses(job(jobs, "without_targets"), steps=10, **knobs).losses == pytest.approx(plain, rel=1e-4)


def test_in_fp16_the_loss_is_scaled_as_it_would_be_in_training(jobs: Path) -> None:
    assert len(losses(job(jobs, "scaled"), steps=5, precision="fp16").losses) == 5


def test_a_loss_that_is_no_number_names_its_step(jobs: Path) -> None:
    with pytest.raises(NonfiniteLossError, match="at step 1"):
        losses(job(jobs, "diverging"))


def test_without_training_there_are_no_losses(jobs: Path) -> None:
    with pytest.raises(UsageError, match="no losses"):
        losses(job(jobs, "synthetic", mode="infer"))


@pytest.mark.parametrize(("step_seconds", "together"), [(0.01, 10), (2.5, 4), (20.0, 1)])
def test_slow_steps_are_told_before_they_look_like_a_hang(
    monkeypatch: pytest.MonkeyPatch, step_seconds: float, together: int
) -> None:
    def timed(_step: object, steps: int, _device: object) -> tuple[Block, None]:
        return Block(steps=steps, seconds=steps * step_seconds), None

    monkeypatch.setattr(kind_losses, "time_block", timed)
    blocks = kind_losses._run(lambda: None, 41, open_device("cpu"), SilentChannel())
    assert {block.steps for block in blocks[1:]} == {together}
    assert sum(block.steps for block in blocks) == 41
