"""Crop, scale and flip: what makes all images one size, by chance in training and the same each time in inference.

The choice of the part is apart from the cutting, so that parts for the GPU are chosen by the same law.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from traindyno.core.records import Mode
from traindyno.worker.data.stored import Augmentation, Pixels

AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
TRIES = 10
PADDING = 4
# In inference the shorter side counts as 256 pixels where 224 are kept.
KEPT = 224 / 256


class CropBox(NamedTuple):
    """The part of an image to scale to the wanted size, mirrored left to right or not.

    It may reach beyond the image: what lies there is black.
    """

    top: int
    left: int
    height: int
    width: int
    flip: bool = False


def augment(pixels: Pixels, how: Augmentation, size: int, mode: Mode, rng: np.random.Generator) -> Pixels:
    """An image of size × size × 3 out of one of any size."""
    height, width, _ = pixels.shape
    return cut(pixels, choose_crop(height, width, how, size, mode, rng), size)


def choose_crop(height: int, width: int, how: Augmentation, size: int, mode: Mode, rng: np.random.Generator) -> CropBox:
    """The part to cut out.

    `resized_crop` takes 8 to 100 % of the area at an aspect ratio of 3:4 to 4:3, `crop` the wanted size as it is
    stored, `padded_crop` the stored size shifted by up to 4 pixels; `none` is always the whole, never mirrored. In
    inference it is the centre: of a resized crop 224/256 of the shorter side, which shows what resizing the shorter
    side to size × 256/224 and cutting shows.
    """
    if mode == "infer" or how == "none":
        return _CENTRAL[how](height, width, size)
    return _RANDOM[how](height, width, size, rng)._replace(flip=bool(rng.random() < 0.5))


def cut(pixels: Pixels, box: CropBox, size: int) -> Pixels:
    """Cut the part out, scale it to size × size (bilinear, antialiased as PIL does it), mirror it if asked."""
    part = torch.from_numpy(cut_out(pixels, box))
    if part.shape[:2] != (size, size):
        part = _scaled(part, size)
    return (part.flip(1) if box.flip else part).numpy()


def cut_out(pixels: Pixels, box: CropBox) -> Pixels:
    """A copy of the part as it is stored, black beyond the image."""
    top, left = max(box.top, 0), max(box.left, 0)
    inside = pixels[top : max(box.top + box.height, 0), left : max(box.left + box.width, 0)]
    if inside.shape[:2] == (box.height, box.width):
        return np.array(inside)
    part = np.zeros((box.height, box.width, 3), dtype=np.uint8)
    part[top - box.top :, left - box.left :][: inside.shape[0], : inside.shape[1]] = inside
    return part


def _scaled(part: Tensor, size: int) -> Tensor:
    """torch scales uint8 with channels last faster than PIL does, to within one level of it."""
    scaled = interpolate(part[None].permute(0, 3, 1, 2), (size, size), mode="bilinear", antialias=True)
    return scaled[0].permute(1, 2, 0).contiguous()


def _random_part(height: int, width: int, size: int, rng: np.random.Generator) -> CropBox:
    """The law of torchvision's RandomResizedCrop: ten tries, then the largest central part of allowed ratio."""
    for _ in range(TRIES):
        area = height * width * rng.uniform(*AREA)
        ratio = math.exp(rng.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        part_height, part_width = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
        if 0 < part_height <= height and 0 < part_width <= width:
            return _anywhere(height, width, part_height, part_width, rng)
    part_height = min(height, max(1, round(width / RATIO[0])))
    part_width = min(width, max(1, round(height * RATIO[1])))
    return _centre(height, width, part_height, part_width)


def _random_square(height: int, width: int, size: int, rng: np.random.Generator) -> CropBox:
    """The wanted size, or the shorter side of a smaller image, which is then scaled up."""
    side = min(size, height, width)
    return _anywhere(height, width, side, side, rng)


def _shifted(height: int, width: int, size: int, rng: np.random.Generator) -> CropBox:
    top, left = rng.integers(-PADDING, PADDING + 1), rng.integers(-PADDING, PADDING + 1)
    return CropBox(int(top), int(left), height, width)


def _anywhere(height: int, width: int, part_height: int, part_width: int, rng: np.random.Generator) -> CropBox:
    top, left = rng.integers(height - part_height + 1), rng.integers(width - part_width + 1)
    return CropBox(int(top), int(left), part_height, part_width)


def _centre(height: int, width: int, part_height: int, part_width: int) -> CropBox:
    return CropBox((height - part_height) // 2, (width - part_width) // 2, part_height, part_width)


def _central_part(height: int, width: int, size: int) -> CropBox:
    side = max(1, round(min(height, width) * KEPT))
    return _centre(height, width, side, side)


def _central_square(height: int, width: int, size: int) -> CropBox:
    side = min(size, height, width)
    return _centre(height, width, side, side)


def _whole(height: int, width: int, size: int) -> CropBox:
    return CropBox(0, 0, height, width)


_RANDOM: dict[Augmentation, Callable[[int, int, int, np.random.Generator], CropBox]] = {
    "resized_crop": _random_part,
    "crop": _random_square,
    "padded_crop": _shifted,
}
_CENTRAL: dict[Augmentation, Callable[[int, int, int], CropBox]] = {
    "resized_crop": _central_part,
    "crop": _central_square,
    "padded_crop": _whole,
    "none": _whole,
}
