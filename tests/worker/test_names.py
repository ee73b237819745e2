"""Wrong names are answered with right ones, in every family."""

import pytest

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import build_job
from traindyno.worker.models.names import nearest


@pytest.mark.parametrize(
    ("model", "suggestion"),
    [
        ("torchvision:resnet5", "torchvision:resnet50"),
        ("torchvision:ResNet50", "torchvision:resnet50"),
        ("torchvision:mobilenetv2", "torchvision:mobilenet_v2"),
        ("timm:resnet5O", "timm:resnet50"),
        ("timm:resnet50.a1_in1", "timm:resnet50.a1_in1k"),
        ("ir:51", "ir:50"),
        ("torchvison:resnet50", "torchvision:resnet50"),
        ("resnet50", "torchvision:resnet50"),
        ("keras:resnet50", "path/to/file.py:function"),
        ("nonsense", "path/to/file.py:function"),
        ("torchvision:", "torchvision:alexnet"),
    ],
)
def test_a_wrong_name_lists_the_nearest_right_ones(model: str, suggestion: str) -> None:
    with pytest.raises(UsageError) as raised:
        build_job(WorkloadSpec(model=model))
    assert suggestion in str(raised.value.hint)


def test_names_are_never_sought_over_the_network() -> None:
    with pytest.raises(UsageError, match="timm has no model"):
        build_job(WorkloadSpec(model="timm:hf-hub:somebody/something"))


def test_the_nearest_name_comes_first() -> None:
    assert nearest("resnet_50", ["resnet18", "vgg16", "resnet50"])[0] == "resnet50"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conv1_stride": 2}, "conv1 stride"),
        ({"classes": 1}, "1 classes"),
        ({"image_size": 0}, "0 px"),
        ({"data": "folder:/nowhere"}, "/nowhere"),
        ({"arguments": {"depth": 3}}, "takes no arguments .depth"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_job(WorkloadSpec(model="torchvision:resnet18", **fields))  # type: ignore[arg-type]
