"""Decode JPEG with simplejpeg, which brings libjpeg-turbo; anything else with PIL."""

import contextlib
import importlib
from collections.abc import Callable

from traindyno.core.errors import TraindynoError
from traindyno.worker.data.decoders.jpeg_header import START_OF_IMAGE
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.stored import Pixels


def open_simplejpeg() -> Callable[[bytes], Pixels]:
    """The decoder, if the optional package is there."""
    try:
        importlib.import_module("simplejpeg")
    except ModuleNotFoundError as error:
        raise TraindynoError(
            "the decoder simplejpeg needs the package simplejpeg, which is not installed",
            "pip install 'traindyno[simplejpeg]', or choose another decoder",
        ) from error
    return decode_simplejpeg


def decode_simplejpeg(content: bytes) -> Pixels:
    """Decode a JPEG as RGB. simplejpeg is strict: what libjpeg only warns of, PIL has to judge."""
    if content.startswith(START_OF_IMAGE):
        simplejpeg = importlib.import_module("simplejpeg")
        with contextlib.suppress(ValueError):
            # Its conversion of CMYK lies one level below PIL's.
            if simplejpeg.decode_jpeg_header(content)[2] not in ("CMYK", "YCCK"):
                pixels: Pixels = simplejpeg.decode_jpeg(content)
                return pixels
    return decode_pil(content)
