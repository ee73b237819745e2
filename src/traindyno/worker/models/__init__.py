"""The families of known models, by name. A new family is one file here and one line in `FAMILIES`."""

from collections.abc import Callable
from pathlib import Path

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.models import ir, mlp, timm_models, torchvision_models
from traindyno.worker.models.image_model import ImageModel
from traindyno.worker.models.names import nearest

FAMILIES: dict[str, Callable[[str, WorkloadSpec], ImageModel]] = {
    "torchvision": torchvision_models.build,
    "timm": timm_models.build,
    "ir": ir.build,
    "mlp": mlp.build,
}


def build_named_model(spec: WorkloadSpec) -> ImageModel:
    """Build `family:name`; a wrong name is answered with the nearest right ones."""
    family, colon, name = spec.model.partition(":")
    if not colon or family not in FAMILIES:
        raise unknown_family(spec.model)
    if spec.conv1_stride is not None and family != "ir":
        raise UsageError(f"{spec.model} has no choice of conv1 stride", "only ir: models take --conv1-stride")
    if spec.arguments:
        raise UsageError(
            f"{spec.model} takes no arguments ({', '.join(spec.arguments)})",
            "only a function of your own does, as in path/to/file.py:function; what is known by name is chosen by name",
        )
    if spec.classes is not None and spec.classes < 2:
        raise UsageError(f"{spec.classes} classes cannot be told apart", "give --classes 2 or more")
    return FAMILIES[family](name, spec)


def unknown_family(model: str) -> UsageError:
    """Neither a known family nor a Python file: say what there is, and guess what was meant."""
    family, colon, name = model.partition(":")
    forms = "torchvision:NAME, timm:NAME, ir:50, mlp:64 or path/to/file.py:function"
    if colon:
        likely = nearest(family, FAMILIES, count=1)
        meant = f"{family}.py" if Path(f"{family}.py").is_file() else likely[0] if likely else None
        guess = f"did you mean {meant}:{name}? " if meant else ""
        return UsageError(f"{family!r} is no family of models", f"{guess}Models are named {forms}")
    likely = [f"torchvision:{found}" for found in nearest(model, torchvision_models.names(), count=3)]
    guess = f"did you mean {', '.join(likely)}? " if likely else ""
    return UsageError(f"the model {model!r} lacks its family", f"{guess}Models are named {forms}")
