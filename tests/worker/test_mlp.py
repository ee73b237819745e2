"""Perceptrons by the widths of their layers."""

import pytest
import torch
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import build_job
from traindyno.worker.models import build_named_model


def widths(model: nn.Module) -> list[tuple[int, int]]:
    return [(layer.in_features, layer.out_features) for layer in model.modules() if isinstance(layer, nn.Linear)]


def test_one_width_is_one_hidden_layer_on_images_of_eight_pixels() -> None:
    built = build_named_model(WorkloadSpec(model="mlp:64", classes=10))
    assert widths(built.model) == [(192, 64), (64, 10)]
    assert built.input_shape == (3, 8, 8)


def test_several_widths_are_several_layers_each_with_a_rectifier_behind_it() -> None:
    built = build_named_model(WorkloadSpec(model="mlp:32x16", image_size=4, classes=3))
    assert widths(built.model) == [(48, 32), (32, 16), (16, 3)]
    assert sum(isinstance(layer, nn.ReLU) for layer in built.model.modules()) == 2
    assert built.model(torch.zeros(2, 3, 4, 4)).shape == (2, 3)


def test_classes_come_from_the_data() -> None:
    job = build_job(WorkloadSpec(model="mlp:16", data="digits:"))
    assert widths(job.model)[-1] == (16, 10)


@pytest.mark.parametrize("name", ["", "0", "64x", "x64", "64X32", "-3", "64,32", "wide"])
def test_what_is_no_width_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        build_named_model(WorkloadSpec(model=f"mlp:{name}"))
    assert "mlp:256x128" in refused.value.hint
