"""The IR ("improved residual") face backbone of ArcFace: IR-18, 34, 50, 100 and 152.

A 3 × 3 stem, four stages of pre-normalised residual units that each halve the image, and an embedding of
512 numbers. Face recognition trains it through a linear layer over the identities, so training adds such a
head (`--classes`, 1000 by default) after the backbone; it is no part of the published parameter count.
Inference ends at the embedding. IR-152 is the one built of the same two-convolution units as the others.
"""

from collections import OrderedDict

from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.models.image_model import DEFAULT_CLASSES, ImageModel
from traindyno.worker.models.names import unknown_name

UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 14, 3), 100: (3, 13, 30, 3), 152: (3, 8, 36, 3)}
WIDTHS = (64, 128, 256, 512)
STAGES_REDUCTION = 16
EMBEDDING = 512
LAST_SIZES = (7, 14)
DROPOUT = 0.4


def build(name: str, spec: WorkloadSpec) -> ImageModel:
    """The backbone, with a head over the classes when it is to be trained."""
    names = [str(depth) for depth in UNITS]
    if name not in names:
        raise unknown_name("ir", name, names)
    image_size = spec.image_size or 112
    stride = default_stride(image_size) if spec.conv1_stride is None else spec.conv1_stride
    backbone = Backbone(UNITS[int(name)], stride, last_size(image_size, stride))
    classes = spec.classes or DEFAULT_CLASSES
    model = backbone if spec.mode == "infer" else IdentityClassifier(backbone, classes)
    return ImageModel(model=model, input_shape=(3, image_size, image_size), classes=classes)


def default_stride(image_size: int) -> int:
    """Large images are halved at once, so that the last layer is as for 112 px."""
    return 2 if image_size >= 224 else 1


def last_size(image_size: int, conv1_stride: int) -> int:
    """Height and width of the last feature map: the stem's stride, then four halvings."""
    size = image_size // (max(conv1_stride, 1) * STAGES_REDUCTION)
    exact = size * conv1_stride * STAGES_REDUCTION == image_size
    if conv1_stride not in (1, 2) or not exact or size not in LAST_SIZES:
        raise UsageError(
            f"IR backbones cannot take images of {image_size} px with conv1 stride {conv1_stride}",
            "use 112 px/stride 1 or 224/2 (last layer 7 × 7), or 224/1 (14 × 14)",
        )
    return size


class Unit(nn.Module):
    """Normalise around both convolutions, the second with the stride, and add what came in."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            nn.BatchNorm2d(channels_in),
            nn.Conv2d(channels_in, channels_out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.PReLU(channels_out),
            nn.Conv2d(channels_out, channels_out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels_out),
        )
        self.shortcut = _shortcut(channels_in, channels_out, stride)

    def forward(self, images: Tensor) -> Tensor:
        total: Tensor = self.shortcut(images) + self.residual(images)
        return total


class Backbone(nn.Module):
    """From face images to embeddings."""

    def __init__(self, units: tuple[int, ...], conv1_stride: int, last_size: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, WIDTHS[0], 3, conv1_stride, 1, bias=False),
            nn.BatchNorm2d(WIDTHS[0]),
            nn.PReLU(WIDTHS[0]),
        )
        widths = zip((WIDTHS[0], *WIDTHS[:-1]), WIDTHS, units, strict=True)
        self.stages = nn.Sequential(*(_stage(width_in, width, count) for width_in, width, count in widths))
        self.embed = nn.Sequential(
            nn.BatchNorm2d(WIDTHS[-1]),
            nn.Dropout(DROPOUT),
            nn.Flatten(),
            nn.Linear(WIDTHS[-1] * last_size**2, EMBEDDING),
            nn.BatchNorm1d(EMBEDDING),
        )

    def forward(self, images: Tensor) -> Tensor:
        embedding: Tensor = self.embed(self.stages(self.stem(images)))
        return embedding


class IdentityClassifier(nn.Sequential):
    """The backbone and, after it, one score per identity."""

    def __init__(self, backbone: Backbone, classes: int) -> None:
        super().__init__(OrderedDict(backbone=backbone, head=nn.Linear(EMBEDDING, classes)))


def _stage(width_in: int, width: int, units: int) -> nn.Sequential:
    later = (Unit(width, width, stride=1) for _ in range(units - 1))
    return nn.Sequential(Unit(width_in, width, stride=2), *later)


def _shortcut(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    if channels_in == channels_out:
        return nn.MaxPool2d(1, stride)
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out))
