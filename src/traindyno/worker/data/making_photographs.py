"""JPEG files in class folders, in the manner of ImageNet and of the small version of Places365.

Both have `train` and `val` in class folders. Places365 publishes `val` without them and its labels in a list; here its
images lie where their labels say.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from traindyno.worker.data.making_images import Size, draw
from traindyno.worker.data.making_layout import Block, Layout, MakeRequest
from traindyno.worker.data.set_files import write_whole

PLACES_SIZE = (256, 256)


@dataclass(frozen=True)
class Photographs:
    """Where each image lies (by split, label and number), how large it is, and within which qualities it is encoded."""

    path: Callable[[str, int, int], str]
    size: Callable[[np.random.Generator], Size]
    qualities: tuple[int, int]


def write_photographs(photographs: Photographs, folder: Path, request: MakeRequest, block: Block) -> int:
    """Write the images of the block that are not there yet; the bytes of all of them."""
    total = 0
    for index in range(block.first, block.last):
        label, number = index % request.classes, index // request.classes
        path = folder / photographs.path(block.part, label, number)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            random = np.random.default_rng([request.seed, block.part == "val", index])
            write_whole(path, _photograph(photographs, label, random), durable=False)
        total += path.stat().st_size
    return total


def _photograph(photographs: Photographs, label: int, random: np.random.Generator) -> bytes:
    picture = draw(label, photographs.size(random), random)
    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=int(random.integers(*photographs.qualities)))
    return encoded.getvalue()


def _splits(request: MakeRequest) -> dict[str, int]:
    return {"train": request.train_images, "val": request.val_images}


def _nothing_more(folder: Path, request: MakeRequest) -> None:
    """Class folders are finished when their images are."""


def _imagenet_path(split: str, label: int, number: int) -> str:
    synset = f"n{label + 1:08d}"
    return f"{split}/{synset}/{synset}_{number + 1}.JPEG"


def _imagenet_size(random: np.random.Generator) -> Size:
    """Most are 500 px wide, some are smaller, few are much larger; a quarter stands upright."""
    kind = random.random()
    if kind < 0.60:
        wide, narrow = 500, 375
    elif kind < 0.73:
        wide, narrow = 500, 333
    elif kind < 0.78:
        wide, narrow = 500, 500
    elif kind < 0.85:
        wide, narrow = 640, 480
    elif kind < 0.98:
        wide = int(random.integers(150, 480))
        narrow = int(wide / random.uniform(1, 1.6))
    else:
        wide = int(random.integers(700, 1600))
        narrow = int(wide / random.uniform(1.2, 1.6))
    return (narrow, wide) if random.random() < 0.25 else (wide, narrow)


def _places_path(split: str, label: int, number: int) -> str:
    letter = chr(ord("a") + label % 26)
    return f"{split}/{letter}/{letter}_scene_{label:03d}/{number + 1:08d}.jpg"


def _places_size(random: np.random.Generator) -> Size:
    return PLACES_SIZE


IMAGENET = Layout(
    classes=1000,
    fixed=False,
    val_share=0.1,
    image_bytes=100_000,
    block_images=32,
    scheme="folder",
    parts=_splits,
    write_block=partial(write_photographs, Photographs(_imagenet_path, _imagenet_size, (80, 95))),
    finish=_nothing_more,
)
PLACES365 = Layout(
    classes=365,
    fixed=False,
    val_share=0.1,
    image_bytes=18_000,
    block_images=64,
    scheme="folder",
    parts=_splits,
    write_block=partial(write_photographs, Photographs(_places_path, _places_size, (55, 80))),
    finish=_nothing_more,
)
