"""PIL's bilinear scaling written out in matrices, without rounding: what the kernel on the GPU is held against."""

import numpy as np
from numpy.typing import NDArray

from traindyno.worker.data.augment import CropBox
from traindyno.worker.data.stored import Pixels


def weights(length: int, size: int) -> NDArray[np.float64]:
    """What each of `size` results takes of each of `length` sources: a triangle, widened where the image shrinks."""
    scale = length / size
    reach = max(scale, 1.0)
    centres = (np.arange(size) + 0.5)[:, None] * scale
    triangle = np.maximum(1 - np.abs(np.arange(length) + 0.5 - centres) / reach, 0)
    return np.asarray(triangle / triangle.sum(axis=1, keepdims=True))


def crop_reference(pixels: Pixels, box: CropBox, size: int) -> NDArray[np.float64]:
    """The box, black beyond the image, scaled to size × size × 3 and mirrored if asked, in levels."""
    room = np.pad(pixels, ((99, 99), (99, 99), (0, 0)))
    part = room[99 + box.top :, 99 + box.left :][: box.height, : box.width].astype(np.float64)
    scaled = np.einsum("yh,hwc,xw->yxc", weights(box.height, size), part, weights(box.width, size), optimize=True)
    return scaled[:, ::-1] if box.flip else scaled
