"""What a set to make is, and what the form of a well-known set consists of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from traindyno.core.base import Record

Like = Literal["imagenet", "places365", "cifar10"]


class MakeRequest(Record, frozen=True):
    """A set to make. Everything that decides its bytes is in here."""

    like: Like
    train_images: int
    val_images: int
    classes: int
    seed: int = 0

    @property
    def images(self) -> int:
        return self.train_images + self.val_images


@dataclass(frozen=True)
class Block:
    """Some images of one part of the set, made by one process in one go."""

    part: str
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Layout:
    """How a set is laid out.

    `image_bytes` is what an image takes on average, `scheme` names the source that reads the set, `parts` says how
    many images belong into each part. `write_block` makes what is not there yet and returns the block's bytes. A
    `fixed` form has exactly so many classes, and never lacks its test images.
    """

    classes: int
    fixed: bool
    val_share: float
    image_bytes: int
    block_images: int
    scheme: str
    parts: Callable[[MakeRequest], dict[str, int]]
    write_block: Callable[[Path, MakeRequest, Block], int]
    finish: Callable[[Path, MakeRequest], None]
