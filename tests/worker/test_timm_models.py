"""timm's models, with and without a fixed input size."""

import sys

import pytest
import torch

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import build_job

CPU = torch.device("cpu")


def test_without_timm_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(TraindynoError, match="not installed") as raised:
        build_job(WorkloadSpec(model="timm:resnet18"))
    assert raised.value.hint == "pip install 'traindyno[timm]'"


@pytest.mark.parametrize(
    ("name", "size"),
    [("test_resnet", 64), ("test_vit", 64), ("levit_128s", 224), ("test_vit.r160_in1k", 160)],
)
def test_a_training_step_runs_at_the_asked_size(name: str, size: int) -> None:
    pytest.importorskip("timm")
    job = build_job(WorkloadSpec(model=f"timm:{name}", image_size=size, classes=5))
    images, target = job.batch(2, CPU)
    assert images.shape == (2, 3, size, size)
    assert target.max() < 5
    job.loss(job.model.train(), (images, target)).backward()  # type: ignore[no-untyped-call]


def test_the_default_size_comes_from_the_model_itself() -> None:
    pytest.importorskip("timm")
    job = build_job(WorkloadSpec(model="timm:test_vit"))
    images, _ = job.batch(1, CPU)
    assert images.shape == (1, 3, 160, 160)
    assert job.predict(job.model.eval(), images).shape == (1, 1000)


def test_a_batch_of_one_trains_although_the_head_normalises_single_values() -> None:
    pytest.importorskip("timm")
    job = build_job(WorkloadSpec(model="timm:levit_128s"))
    assert torch.isfinite(job.loss(job.model.train(), job.batch(1, CPU)))


def test_an_image_size_the_model_cannot_take_is_a_usage_error() -> None:
    pytest.importorskip("timm")
    with pytest.raises(UsageError, match="cannot take images of 50 px") as raised:
        build_job(WorkloadSpec(model="timm:levit_128s", image_size=50))
    assert "224 px" in str(raised.value.hint)
