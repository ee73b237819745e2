"""Every classification model of torchvision, without weights, auxiliary heads included."""

from typing import Any

from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.models.image_model import DEFAULT_CLASSES, ImageModel
from traindyno.worker.models.names import unknown_name
from traindyno.worker.models.shapes import check_images

# The share of each auxiliary head's loss, as the papers of the two models have it.
AUXILIARY_WEIGHTS = {"inception_v3": 0.4, "googlenet": 0.3}
WITH_AUXILIARY_SCORES = {"InceptionOutputs": "inception_v3", "GoogLeNetOutputs": "googlenet"}
TASKS = {
    "detection": "detection",
    "segmentation": "segmentation",
    "video": "video",
    "optical_flow": "optical-flow",
    "quantization": "quantized",
}
FALLBACK_IMAGE_SIZE = 224


def build(name: str, spec: WorkloadSpec) -> ImageModel:
    """Build the model for the asked image size, or for the one its published weights were made with."""
    check_name(name)
    usual_size = default_image_size(name)
    size = spec.image_size or usual_size
    classes = spec.classes or DEFAULT_CLASSES
    options = _options(name, size, with_auxiliary_heads=spec.mode == "train")
    if size != usual_size:
        check_images(f"torchvision:{name}", lambda: _construct(name, 2, options), (3, size, size), usual_size)
    return ImageModel(
        model=_construct(name, classes, options),
        input_shape=(3, size, size),
        classes=classes,
        auxiliary_weight=AUXILIARY_WEIGHTS.get(name, 0.0),
    )


def auxiliary_weight_of(output: object) -> float | None:
    """The share of each auxiliary head's loss, of a model known by what it returns in training."""
    name = WITH_AUXILIARY_SCORES.get(type(output).__name__)
    return None if name is None else AUXILIARY_WEIGHTS[name]


def names() -> list[str]:
    """The classification models, in alphabetical order."""
    from torchvision import models

    found: list[str] = models.list_models(module=models)
    return found


def check_name(name: str) -> None:
    """Refuse models of other tasks by their task, and unknown names with the nearest known ones."""
    from torchvision import models

    if name in names():
        return
    if name not in models.list_models():
        raise unknown_name("torchvision", name, names())
    package = models.get_model_builder(name).__module__.split(".")[2]
    raise UsageError(
        f"torchvision:{name} is a {TASKS.get(package, package)} model, not a classification model",
        "return it from your file.py:function in a traindyno.Workload with example_input and training_step",
    )


def default_image_size(name: str) -> int:
    """The crop of the best published weights' own transform, known without downloading them."""
    from torchvision import models

    transforms = models.get_model_weights(name).DEFAULT.transforms
    size = getattr(transforms, "keywords", {}).get("crop_size", FALLBACK_IMAGE_SIZE)
    return int(size[0] if isinstance(size, list | tuple) else size)


def _options(name: str, size: int, with_auxiliary_heads: bool) -> dict[str, Any]:
    if name in AUXILIARY_WEIGHTS:
        return {"aux_logits": with_auxiliary_heads, "init_weights": False}
    if name.startswith("vit_"):
        return {"image_size": size}
    if name.startswith("maxvit_"):
        return {"input_size": (size, size)}
    return {}


def _construct(name: str, classes: int, options: dict[str, Any]) -> nn.Module:
    from torchvision import models

    model: nn.Module = models.get_model(name, weights=None, num_classes=classes, **options)
    return model
