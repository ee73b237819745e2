"""Decode JPEG with torchvision, which brings libjpeg-turbo; anything else with PIL."""

import torch
from torchvision.io import ImageReadMode, decode_jpeg

from traindyno.worker.data.decoders.jpeg_header import START_OF_IMAGE
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.stored import Pixels


def decode_torchvision(content: bytes) -> Pixels:
    """Decode a JPEG as RGB. What torchvision returns is a view of rows of pixels, so that nothing is copied here."""
    if not content.startswith(START_OF_IMAGE):
        return decode_pil(content)
    try:
        # A bytearray, since torch warns of memory that may not be written.
        image: torch.Tensor = decode_jpeg(torch.frombuffer(bytearray(content), dtype=torch.uint8), ImageReadMode.RGB)
    except RuntimeError:
        return decode_pil(content)
    return image.permute(1, 2, 0).contiguous().numpy()
