"""One example as a prepared set stores it: decoded, resized to a shorter side, and kept as pixels or as a JPEG."""

import io
from dataclasses import dataclass

from PIL import Image

from traindyno.worker.data.bad import UndecodableError
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.prepared_format import PrepareRequest
from traindyno.worker.data.stored import Stored

# A thread of an image, made as wide as the others, would fill the memory.
MOST_PIXELS = 100_000_000


@dataclass(frozen=True, slots=True)
class Converted:
    """`enlarged` tells that the source's image was smaller than the set wants."""

    content: bytes
    height: int
    width: int
    enlarged: bool = False


def convert(request: PrepareRequest, stored: Stored) -> Converted:
    """Raises `UndecodableError` where the content is no image that can be used."""
    pixels = decode_pil(stored.content) if isinstance(stored.content, bytes) else stored.content
    image = Image.fromarray(pixels)
    return _as_pixels(image, request) if request.encoding == "u8" else _as_jpeg(image, stored, request)


def _as_pixels(image: Image.Image, request: PrepareRequest) -> Converted:
    """Every image gets the shorter side, small ones too: crops are cut from it without scaling."""
    resized = _resized(image, request.shorter_side)
    enlarged = min(image.size) < request.shorter_side
    return Converted(resized.tobytes(), resized.height, resized.width, enlarged)


def _as_jpeg(image: Image.Image, stored: Stored, request: PrepareRequest) -> Converted:
    """Larger images are made smaller; a JPEG that is small enough stays as it is, byte for byte."""
    assert request.quality is not None
    small = min(image.size) <= request.shorter_side
    if small and isinstance(stored.content, bytes) and _is_colour_jpeg(stored.content):
        return Converted(stored.content, image.height, image.width)
    resized = image if small else _resized(image, request.shorter_side)
    encoded = io.BytesIO()
    resized.save(encoded, "JPEG", quality=request.quality)
    return Converted(encoded.getvalue(), resized.height, resized.width)


def _is_colour_jpeg(content: bytes) -> bool:
    with Image.open(io.BytesIO(content)) as image:
        return (image.format, image.mode) == ("JPEG", "RGB")


def _resized(image: Image.Image, shorter_side: int) -> Image.Image:
    """The image with the given shorter side and its own proportions; PIL's filter does not alias."""
    shorter = min(image.size)
    if shorter == shorter_side:
        return image
    width, height = (max(shorter_side, round(side * shorter_side / shorter)) for side in image.size)
    if width * height > MOST_PIXELS:
        raise UndecodableError(f"its {image.width}×{image.height} pixels would become {width}×{height}")
    return image.resize((width, height), Image.Resampling.BILINEAR)
