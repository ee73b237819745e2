"""The plain multilayer perceptron: flattened images through layers of rectified units, `mlp:64` or `mlp:256x128`."""

import re
from itertools import pairwise

from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.models.image_model import DEFAULT_CLASSES, ImageModel

DEFAULT_IMAGE_SIZE = 8
_WIDTHS = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*)*")


def build(name: str, spec: WorkloadSpec) -> ImageModel:
    """A layer for each width, and one more that tells the classes."""
    size, classes = spec.image_size or DEFAULT_IMAGE_SIZE, spec.classes or DEFAULT_CLASSES
    widths = (3 * size * size, *widths_of(name))
    layers: list[nn.Module] = [nn.Flatten()]
    for width_in, width in pairwise(widths):
        layers += [nn.Linear(width_in, width), nn.ReLU()]
    layers.append(nn.Linear(widths[-1], classes))
    return ImageModel(model=nn.Sequential(*layers), input_shape=(3, size, size), classes=classes)


def widths_of(name: str) -> tuple[int, ...]:
    """`256x128` as 256 and 128."""
    if _WIDTHS.fullmatch(name) is None:
        raise UsageError(
            f"mlp:{name} does not name a perceptron" if name else "mlp: lacks the widths of its layers",
            "write the width of each hidden layer, such as mlp:64 or mlp:256x128",
        )
    return tuple(map(int, name.split("x")))
