"""Pictures that lie on the device, all of one size: batches are picked, cropped, mirrored and normalised there."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from traindyno.worker.data.augment import PADDING
from traindyno.worker.data.normalise import normalise
from traindyno.worker.data.stored import Augmentation, Examples, Pixels

Batch = tuple[Tensor, Tensor]


class StoredPictures(NamedTuple):
    """Pictures of one size on the host, examples × height × width × 3, with their classes."""

    pixels: Pixels
    labels: Tensor
    augmentation: Augmentation


def stored_pictures(examples: Examples) -> StoredPictures | None:
    """All pictures, if they are pixels of one size."""
    every = [examples.fetch(index) for index in range(len(examples))]
    pixels = [each.content for each in every if isinstance(each.content, np.ndarray)]
    if len(pixels) < len(every) or len({each.shape for each in pixels}) > 1:
        return None
    return StoredPictures(np.stack(pixels), torch.tensor([each.label for each in every]), examples.augmentation)


def held_bytes(examples: Examples, size: int, changing: bool) -> int | None:
    """What the pictures would take on the device if all are like the first; null if they are not for that.

    Only pixels that need no scaling are. Those that never change are held as floats.
    """
    first, how = examples.fetch(0).content, examples.augmentation
    if isinstance(first, bytes) or how == "resized_crop":
        return None
    height, width, _ = first.shape
    if min(height, width) < size or (how != "crop" and (height, width) != (size, size)):
        return None
    if changing and how != "none":
        return int(len(examples) * (height + 2 * _border(how)) * (width + 2 * _border(how)) * 3)
    return len(examples) * size * size * 3 * 4


def _border(how: Augmentation) -> int:
    return PADDING if how == "padded_crop" else 0


@dataclass(frozen=True, eq=False)
class StillPictures:
    """Pictures that never change, held as the model takes them: examples × 3 × height × width, or channels last."""

    held: Tensor
    labels: Tensor
    channels_last: bool

    def windows(self, count: int, generator: torch.Generator) -> Tensor:
        """Nothing is left to chance."""
        return torch.empty((count, 0), dtype=torch.int64)

    def batch(self, indices: Tensor, windows: Tensor) -> Batch:
        images = self.held.index_select(0, indices)
        return images.permute(0, 3, 1, 2) if self.channels_last else images, self.labels.index_select(0, indices)


@dataclass(frozen=True, eq=False)
class ShiftedPictures:
    """Pictures of which a window is shown, anywhere and mirrored or not; `held` has the black border around them.

    The windows follow the law of `augment`: of a border of 4 pixels all shifts by up to 4, of none all parts inside.
    """

    held: Tensor
    labels: Tensor
    size: int
    channels_last: bool

    def windows(self, count: int, generator: torch.Generator) -> Tensor:
        """For each of so many pictures the window's top and left, and whether it is mirrored."""
        _, height, width, _ = self.held.shape
        most = (height - self.size + 1, width - self.size + 1, 2)
        return torch.stack([torch.randint(end, (count,), generator=generator) for end in most], dim=1)

    def batch(self, indices: Tensor, windows: Tensor) -> Batch:
        top, left, mirrored = windows.unbind(1)
        every_window = self.held.unfold(1, self.size, 1).unfold(2, self.size, 1)
        planes = every_window[indices, top, left]
        planes = torch.where(mirrored[:, None, None, None] > 0, planes.flip(3), planes)
        images = normalise(planes.permute(0, 2, 3, 1), channels_last=self.channels_last)
        return images, self.labels.index_select(0, indices)


Pictures = StillPictures | ShiftedPictures


def still(stored: StoredPictures, size: int, channels_last: bool, device: torch.device) -> StillPictures:
    """The middle of each picture, on the device."""
    top, left = ((side - size) // 2 for side in stored.pixels.shape[1:3])
    middle = torch.from_numpy(np.ascontiguousarray(stored.pixels[:, top : top + size, left : left + size]))
    images = normalise(middle.to(device), channels_last=channels_last)
    held = images.permute(0, 2, 3, 1) if channels_last else images
    return StillPictures(held, stored.labels.to(device), channels_last)


def changing(stored: StoredPictures, size: int, channels_last: bool, device: torch.device) -> Pictures:
    """The pictures as training shows them, on the device."""
    if stored.augmentation == "none":
        return still(stored, size, channels_last, device)
    border = _border(stored.augmentation)
    held = pad(torch.from_numpy(stored.pixels).to(device), (0, 0, border, border, border, border))
    return ShiftedPictures(held, stored.labels.to(device), size, channels_last)
