"""Decode with PIL: every format it knows, and the judge of what is an image at all."""

import io
import struct
import zlib

import numpy as np
from PIL import Image, UnidentifiedImageError

from traindyno.worker.data.bad import UndecodableError
from traindyno.worker.data.stored import Pixels

# What the readers of the formats were seen to raise for damaged bytes.
_FAULTS = (
    OSError,
    ValueError,
    TypeError,
    SyntaxError,
    LookupError,
    EOFError,
    ArithmeticError,
    NotImplementedError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)


def decode_pil(content: bytes) -> Pixels:
    """Decode an image of any format as RGB."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            return _rgb(image)
    except UnidentifiedImageError as error:
        raise UndecodableError("it is not an image of a known format") from error
    except _FAULTS as error:
        raise UndecodableError(f"it cannot be decoded ({error})") from error


def _rgb(image: Image.Image) -> Pixels:
    if image.mode == "RGB":
        return np.array(image)
    if image.mode.startswith("I"):
        return _grey_of_16_bits(image)
    return np.array(image.convert("RGB"))


def _grey_of_16_bits(image: Image.Image) -> Pixels:
    """PIL's own conversion would make every value above 255 white."""
    grey = np.clip(np.asarray(image).astype(np.int64) >> 8, 0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
