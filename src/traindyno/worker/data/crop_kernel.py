# mypy: disable-error-code="import-untyped, import-not-found, no-untyped-def, untyped-decorator, no-untyped-call"
"""Crop, scale, mirror and normalise a whole batch of differently sized images with one kernel.

The scaling is PIL's: bilinear, and where an image shrinks the filter widens by the same factor. PIL scales along rows
first and rounds to bytes between; here nothing is rounded, so that results lie within one level of PIL's.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from traindyno.worker.data.normalise import FACTORS, SHIFTS, empty_images

ROWS = 8
COLUMNS = 32


def addresses(images: Sequence[Tensor]) -> Tensor:
    """Where each image of 3 × height × width bytes lies, and its height and width: what the kernel finds them by."""
    assert all(image.is_contiguous() for image in images)
    return torch.tensor([(image.data_ptr(), *image.shape[1:]) for image in images], dtype=torch.int64)


def crop(table: Tensor, boxes: Tensor, size: int, dtype: torch.dtype, channels_last: bool) -> Tensor:
    """Normalised images, examples × 3 × size × size, of the `addresses` and the boxes, both on the device.

    The images behind the addresses and both tables must stay alive until the kernel has run.
    """
    result = empty_images(len(table), size, size, dtype, channels_last, table.device)
    tiles = triton.cdiv(size, ROWS) * triton.cdiv(size, COLUMNS)
    _crop[(len(table), tiles)](table, boxes, result, size, *result.stride(), *FACTORS, *SHIFTS, ROWS, COLUMNS)
    return result


@triton.jit
def _crop(
    table, boxes, result, size,
    image_stride, channel_stride, row_stride, column_stride,
    red_factor, green_factor, blue_factor, red_shift, green_shift, blue_shift,
    rows: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    """One tile of rows × columns of one image: each pixel is a weighted mean over its place in the source."""
    image = tl.program_id(0)
    pixels = tl.load(table + 3 * image).to(tl.pointer_type(tl.uint8))
    height = tl.load(table + 3 * image + 1).to(tl.int32)
    width = tl.load(table + 3 * image + 2).to(tl.int32)
    top = tl.load(boxes + 5 * image)
    left = tl.load(boxes + 5 * image + 1)
    box_height = tl.load(boxes + 5 * image + 2)
    box_width = tl.load(boxes + 5 * image + 3)
    flip = tl.load(boxes + 5 * image + 4)

    across = tl.cdiv(size, columns)
    y = tl.program_id(1) // across * rows + tl.arange(0, rows)
    x = tl.program_id(1) % across * columns + tl.arange(0, columns)
    y_centre, y_first, y_reach, y_taps = _window(y, box_height, size)
    x_centre, x_first, x_reach, x_taps = _window(tl.where(flip != 0, size - 1 - x, x), box_width, size)

    plane = height.to(tl.int64) * width
    red = tl.zeros((rows, columns), tl.float32)
    green = tl.zeros((rows, columns), tl.float32)
    blue = tl.zeros((rows, columns), tl.float32)
    for y_tap in range(y_taps):
        y_weight = _weight(y_first + y_tap, y_centre, y_reach, box_height)
        row = top + y_first + y_tap
        row_inside = (y_weight > 0) & (row >= 0) & (row < height)
        line = pixels + row.to(tl.int64) * width
        for x_tap in range(x_taps):
            x_weight = _weight(x_first + x_tap, x_centre, x_reach, box_width)
            column = left + x_first + x_tap
            column_inside = (x_weight > 0) & (column >= 0) & (column < width)
            inside = row_inside[:, None] & column_inside[None, :]
            weight = y_weight[:, None] * x_weight[None, :]
            place = line[:, None] + column[None, :]
            red += weight * tl.load(place, mask=inside, other=0).to(tl.float32)
            green += weight * tl.load(place + plane, mask=inside, other=0).to(tl.float32)
            blue += weight * tl.load(place + 2 * plane, mask=inside, other=0).to(tl.float32)

    y_total = _total(y_first, y_centre, y_reach, y_taps, box_height)
    x_total = _total(x_first, x_centre, x_reach, x_taps, box_width)
    total = y_total[:, None] * x_total[None, :]
    wanted = (y < size)[:, None] & (x < size)[None, :]
    target = result + image.to(tl.int64) * image_stride + y[:, None] * row_stride + x[None, :] * column_stride
    tl.store(target, red / total * red_factor + red_shift, mask=wanted)
    tl.store(target + channel_stride, green / total * green_factor + green_shift, mask=wanted)
    tl.store(target + 2 * channel_stride, blue / total * blue_factor + blue_shift, mask=wanted)


@triton.jit
def _window(position, length, size):
    """Where in the box pixels of the result lie, the first source pixel each sees, how far and how many it sees."""
    scale = length.to(tl.float32) / size
    reach = tl.maximum(scale, 1.0)
    centre = (position.to(tl.float32) + 0.5) * scale
    first = tl.maximum(centre - reach + 0.5, 0.0).to(tl.int32)
    return centre, first, reach, (2 * reach).to(tl.int32) + 2


@triton.jit
def _weight(source, centre, reach, length):
    """How much a source pixel counts: less with its distance, nothing beyond the reach or outside the box."""
    distance = tl.abs(source.to(tl.float32) + 0.5 - centre)
    return tl.where(source < length, tl.maximum(1.0 - distance / reach, 0.0), 0.0)


@triton.jit
def _total(first, centre, reach, taps, length):
    """The sum of the weights along one side."""
    total = tl.zeros_like(centre)
    for tap in range(taps):
        total += _weight(first + tap, centre, reach, length)
    return total
