"""From bytes to what a model takes: each channel shifted and scaled by ImageNet's mean and standard deviation."""

import functools

import torch
from torch import Tensor

MEAN = (0.485, 0.456, 0.406)
STANDARD_DEVIATION = (0.229, 0.224, 0.225)

# Normalising a byte is one multiplication and one addition, a pair for each channel.
FACTORS = tuple(1 / (255 * deviation) for deviation in STANDARD_DEVIATION)
SHIFTS = tuple(-mean / deviation for mean, deviation in zip(MEAN, STANDARD_DEVIATION, strict=True))


def normalise(images: Tensor, dtype: torch.dtype = torch.float32, channels_last: bool = False) -> Tensor:
    """Examples × height × width × 3 in bytes become examples × 3 × height × width in `dtype`, on the same device.

    The result is made first: converting the permuted view would keep the channels last in memory whatever was asked.
    On a GPU it is filled by one kernel; on a CPU image by image, which stays in the cache.
    """
    examples, height, width, _ = images.shape
    result = empty_images(examples, height, width, dtype, channels_last, images.device)
    factors, shifts = _constants(images.device)
    planes = images.permute(0, 3, 1, 2)
    for target, source in zip(result, planes, strict=True) if images.device.type == "cpu" else [(result, planes)]:
        torch.addcmul(shifts, source, factors, out=target)
    return result


def empty_images(
    examples: int, height: int, width: int, dtype: torch.dtype, channels_last: bool, device: torch.device
) -> Tensor:
    """Room for a batch of images, laid out in memory as asked."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return torch.empty((examples, 3, height, width), dtype=dtype, device=device, memory_format=layout)


@functools.cache
def _constants(device: torch.device) -> tuple[Tensor, Tensor]:
    """Kept on the device: to send them anew for each batch would make the host wait for the GPU."""
    factors = torch.tensor(FACTORS, device=device).view(3, 1, 1)
    return factors, torch.tensor(SHIFTS, device=device).view(3, 1, 1)
