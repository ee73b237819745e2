"""A batch of encoded images as a few tensors, for decoding on the GPU.

All bytes of a batch travel as one tensor: a loader worker that returns hundreds of tensors runs out of file
descriptors. Workers do three things: `examine` an example (the GPU's part of decoding left out), `wrap` it with the
part to cut out of it, and `pack` a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from traindyno.core.records import Mode
from traindyno.worker.data.augment import CropBox, augment, choose_crop
from traindyno.worker.data.decoders.jpeg_header import nvjpeg_size
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.stored import Augmentation, Pixels, Stored


@dataclass(frozen=True, slots=True)
class Jpeg:
    """An image that nvJPEG can decode."""

    content: bytes
    height: int
    width: int
    name: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """One example to pack: a JPEG and the part of it to show, or, `finished`, the three planes of the image itself."""

    content: Pixels
    box: CropBox
    finished: bool
    name: str
    area: int


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """A batch on its way to the GPU: the bytes of all examples end to end, and one row in each of the others.

    Of `finished` examples the bytes are three planes of the wanted size, of the others a JPEG of so many pixels (its
    `areas`). The columns of `boxes` are those of a `CropBox`. `names` are for errors.
    """

    content: Tensor
    lengths: Tensor
    boxes: Tensor
    finished: Tensor
    labels: Tensor
    areas: Tensor
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def pin_memory(self) -> "PackedBatch":
        """The same in page-locked memory; a loader calls this by its name."""
        return PackedBatch(
            self.content.pin_memory(),
            self.lengths,
            self.boxes.pin_memory(),
            self.finished,
            self.labels.pin_memory(),
            self.areas,
            self.names,
        )


def examine(stored: Stored) -> Jpeg | Pixels:
    """Leave a JPEG to the GPU; decode here what nvJPEG cannot: other formats, CMYK, damaged files."""
    if not isinstance(stored.content, bytes):
        return stored.content
    size = nvjpeg_size(stored.content)
    return decode_pil(stored.content) if size is None else Jpeg(stored.content, *size, stored.name)


def wrap(examined: Jpeg | Pixels, how: Augmentation, size: int, mode: Mode, rng: np.random.Generator) -> Parcel:
    """Choose the part of a JPEG to show; finish an image that is already decoded."""
    if isinstance(examined, Jpeg):
        box = choose_crop(examined.height, examined.width, how, size, mode, rng)
        area = examined.height * examined.width
        return Parcel(np.frombuffer(examined.content, dtype=np.uint8), box, False, examined.name, area)
    planes = augment(examined, how, size, mode, rng).transpose(2, 0, 1)
    return Parcel(planes.reshape(-1), CropBox(0, 0, size, size), True, "", size * size)


def pack(parcels: Sequence[Parcel], labels: Sequence[int]) -> PackedBatch:
    """One batch of the parcels, in their order."""
    lengths = [parcel.content.size for parcel in parcels]
    content = _room(sum(lengths))
    np.concatenate([parcel.content for parcel in parcels], out=content.numpy())
    return PackedBatch(
        content=content,
        lengths=torch.tensor(lengths, dtype=torch.int64),
        boxes=torch.tensor([parcel.box for parcel in parcels], dtype=torch.int32),
        finished=torch.tensor([parcel.finished for parcel in parcels]),
        labels=torch.tensor(labels, dtype=torch.int64),
        areas=torch.tensor([parcel.area for parcel in parcels], dtype=torch.int64),
        names=tuple(parcel.name for parcel in parcels),
    )


def _room(size_bytes: int) -> Tensor:
    """In a loader worker it is shared memory from the start, which saves a copy when the batch is handed over."""
    if get_worker_info() is None:
        return torch.empty(size_bytes, dtype=torch.uint8)
    shared = torch.UntypedStorage._new_shared(size_bytes)  # type: ignore[no-untyped-call]
    return torch.empty(0, dtype=torch.uint8).set_(shared)
