"""Every model of timm, if timm is installed, without weights."""

from typing import Any

from torch import nn

from traindyno.core.errors import TraindynoError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.models.image_model import DEFAULT_CLASSES, ImageModel
from traindyno.worker.models.names import unknown_name
from traindyno.worker.models.shapes import check_images


def build(name: str, spec: WorkloadSpec) -> ImageModel:
    """Build the model for the asked image size, or for the one in its own configuration."""
    timm = _timm()
    usual = _configuration(timm, name)
    shape = _input_shape(usual, spec.image_size)
    classes = spec.classes or DEFAULT_CLASSES
    options = {"img_size": shape[1:]} if usual.fixed_input_size else {}

    def construct() -> nn.Module:
        model: nn.Module = timm.create_model(name, pretrained=False, num_classes=classes, **options)
        return model

    if shape != usual.input_size:
        check_images(f"timm:{name}", construct, shape, usual.input_size[1])
    return ImageModel(model=construct(), input_shape=shape, classes=classes)


def _configuration(timm: Any, name: str) -> Any:
    """The model's published configuration. Names outside timm's own list would be sought over the network."""
    known = timm.list_pretrained() if "." in name else timm.list_models()
    if name not in known:
        raise unknown_name("timm", name, known)
    return timm.get_pretrained_cfg(name)


def _input_shape(usual: Any, image_size: int | None) -> tuple[int, int, int]:
    channels, height, width = usual.input_size
    return (channels, image_size or height, image_size or width)


def _timm() -> Any:
    try:
        import timm
    except ModuleNotFoundError as error:
        if error.name != "timm":
            raise
        raise TraindynoError("timm is not installed", "pip install 'traindyno[timm]'") from error
    return timm
