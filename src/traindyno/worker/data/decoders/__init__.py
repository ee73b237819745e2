"""Decoders on the host: from an encoded image to pixels, one file each.

All give height × width × 3 RGB bytes: grey images in three equal channels, transparency dropped, 16-bit values cut to
their upper 8 bits, the EXIF orientation ignored. `pil` decides what is an image: whatever another decoder refuses is
given to it, so that the same files are bad for all. A truncated file is bad; damage inside a JPEG that keeps its end
marker is filled in by libjpeg without a word, with all of them alike.
"""

from collections.abc import Callable

from traindyno.core.errors import UsageError
from traindyno.core.loading import Decoder
from traindyno.worker.data.stored import Pixels

# How far pixels of one file may lie apart between these decoders, in levels of 255. All bring libjpeg-turbo, and no
# difference has been seen between them; another version of it may round otherwise.
LARGEST_DIFFERENCE = 2
MEAN_DIFFERENCE = 0.1

# The same between nvJPEG and these, for photographs. It repeats colour samples where libjpeg interpolates them, so an
# image with halved colour (4:2:0) differs along coloured edges; with full colour (4:4:4) or grey only rounding does.
NVJPEG_LARGEST_DIFFERENCE = 32
NVJPEG_MEAN_DIFFERENCE = 3.0
NVJPEG_LARGEST_DIFFERENCE_FULL_COLOUR = 4


def open_decoder(name: Decoder) -> Callable[[bytes], Pixels]:
    """The function that decodes one image. It can travel to loader workers."""
    if name not in DECODERS:
        raise UsageError(f"the decoder {name} does not run on the host", f"choose one of {', '.join(DECODERS)}")
    return DECODERS[name]()


def _open_pil() -> Callable[[bytes], Pixels]:
    from traindyno.worker.data.decoders.pil import decode_pil

    return decode_pil


def _open_torchvision() -> Callable[[bytes], Pixels]:
    from traindyno.worker.data.decoders.torchvision_jpeg import decode_torchvision

    return decode_torchvision


def _open_simplejpeg() -> Callable[[bytes], Pixels]:
    from traindyno.worker.data.decoders.simplejpeg_decoder import open_simplejpeg

    return open_simplejpeg()


DECODERS: dict[Decoder, Callable[[], Callable[[bytes], Pixels]]] = {
    "pil": _open_pil,
    "torchvision": _open_torchvision,
    "simplejpeg": _open_simplejpeg,
}
