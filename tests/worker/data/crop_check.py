"""Hold the crop kernel against the reference: on a GPU, or by triton's interpreter (`TRITON_INTERPRET=1`) without one.

As a program it prints the largest difference in levels; exact black beyond the image included.
"""

import numpy as np
import torch

from traindyno.worker.data.augment import CropBox
from traindyno.worker.data.crop_kernel import addresses, crop
from traindyno.worker.data.normalise import FACTORS, SHIFTS
from worker.data.crop_reference import crop_reference
from worker.data.pictures import picture

# Height and width of an image, and the part to show: shrunk, enlarged, mirrored, reaching beyond the image.
CASES = [
    ((14, 19), CropBox(0, 0, 14, 19)),
    ((22, 27), CropBox(1, 2, 21, 23, flip=True)),
    ((7, 6), CropBox(2, 1, 3, 5)),
    ((9, 9), CropBox(-4, 3, 9, 9)),
    ((9, 9), CropBox(4, -2, 9, 9, flip=True)),
    ((1, 40), CropBox(0, 9, 1, 30)),
]


def largest_difference(device: str, size: int, dtype: torch.dtype, channels_last: bool, times: int = 1) -> float:
    """The largest difference over all cases, in levels of 255; the images may be so many times as large."""
    cases = [((times * height, times * width), _enlarged(box, times)) for (height, width), box in CASES]
    pictures = [picture(*shape, seed=seed) for seed, (shape, _) in enumerate(cases)]
    images = [torch.from_numpy(pixels).permute(2, 0, 1).contiguous().to(device) for pixels in pictures]
    boxes = torch.tensor([box for _, box in cases], dtype=torch.int32, device=device)
    result = crop(addresses(images).to(device), boxes, size, dtype, channels_last)
    assert result.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    assert result.dtype == dtype
    levels = (result.permute(0, 2, 3, 1).double().cpu().numpy() - np.array(SHIFTS)) / np.array(FACTORS)
    expected = [crop_reference(pixels, box, size) for pixels, (_, box) in zip(pictures, cases, strict=True)]
    return float(np.abs(levels - np.stack(expected)).max())


def _enlarged(box: CropBox, times: int) -> CropBox:
    return CropBox(*(times * side for side in box[:4]), flip=box.flip)


if __name__ == "__main__":
    print(largest_difference("cpu", 9, torch.float32, False), largest_difference("cpu", 34, torch.float32, True))
