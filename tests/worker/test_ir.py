"""The IR face backbone: shapes, published sizes, and what it refuses."""

import pytest
import torch
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import build_job

META = torch.device("meta")


def parameters_in_millions(model: nn.Module) -> float:
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


@pytest.mark.parametrize(("depth", "millions"), [("34", 34.129), ("50", 43.59), ("100", 65.132)])
def test_the_backbone_has_the_published_number_of_parameters(depth: str, millions: float) -> None:
    """43.59 M of IR-50 at 112 px and 512-d; IR-34 and IR-100 as OpenVINO's model zoo counts the originals."""
    job = build_job(WorkloadSpec(model=f"ir:{depth}", mode="infer"), device=META)
    assert parameters_in_millions(job.model) == pytest.approx(millions, rel=5e-4)


@pytest.mark.parametrize(("depth", "units"), [(18, 8), (34, 16), (50, 24), (100, 49), (152, 50)])
def test_each_unit_has_two_convolutions(depth: int, units: int) -> None:
    model = build_job(WorkloadSpec(model=f"ir:{depth}", mode="infer"), device=META).model
    convolutions = [m for m in model.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert len(convolutions) == 1 + 2 * units


@pytest.mark.parametrize(
    ("image_size", "stride", "last"),
    [(None, None, 7), (112, 1, 7), (224, None, 7), (224, 2, 7), (224, 1, 14)],
)
def test_the_last_layer_follows_from_image_size_and_stride(
    image_size: int | None, stride: int | None, last: int
) -> None:
    spec = WorkloadSpec(model="ir:18", mode="infer", image_size=image_size, conv1_stride=stride)
    job = build_job(spec, device=META)
    shapes: list[torch.Size] = []
    job.model.get_submodule("stages").register_forward_hook(lambda _, __, output: shapes.append(output.shape))
    images = torch.empty(2, 3, image_size or 112, image_size or 112, device=META)
    assert job.predict(job.model.eval(), images).shape == (2, 512)
    assert shapes == [torch.Size((2, 512, last, last))]


@pytest.mark.parametrize(
    ("image_size", "stride"), [(112, 2), (100, None), (224, 3), (64, 1), (112, 0), (225, 2), (112, -1)]
)
def test_an_impossible_combination_names_the_possible_ones(image_size: int, stride: int | None) -> None:
    with pytest.raises(UsageError, match=f"{image_size} px") as raised:
        build_job(WorkloadSpec(model="ir:50", image_size=image_size, conv1_stride=stride))
    assert "112" in str(raised.value.hint)
    assert "224" in str(raised.value.hint)


@pytest.mark.parametrize(("classes", "expected"), [(None, 1000), (10, 10)])
def test_training_adds_a_head_outside_the_backbone(classes: int | None, expected: int) -> None:
    job = build_job(WorkloadSpec(model="ir:18", classes=classes), device=META)
    extra = parameters_in_millions(job.model) - parameters_in_millions(job.model.get_submodule("backbone"))
    assert extra == pytest.approx(expected * 513 / 1e6)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_a_training_step_reaches_every_parameter(batch_size: int) -> None:
    job = build_job(WorkloadSpec(model="ir:18", classes=10))
    batch = job.batch(batch_size, torch.device("cpu"))
    loss = job.loss(job.model.train(), batch)
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert all(parameter.grad is not None for parameter in job.model.parameters())
