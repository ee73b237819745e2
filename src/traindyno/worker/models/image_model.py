"""What every family of known models hands back: a model and the images it takes."""

from dataclasses import dataclass

from torch import nn

DEFAULT_CLASSES = 1000


@dataclass(frozen=True)
class ImageModel:
    """A classifier of images. `auxiliary_weight` is the share of each auxiliary head's loss in training."""

    model: nn.Module
    input_shape: tuple[int, int, int]
    classes: int
    auxiliary_weight: float = 0.0
