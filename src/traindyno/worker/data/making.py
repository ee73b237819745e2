"""Make a set of pictures in the form of a well-known one: seeded, by many processes, resumed when cut off."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from traindyno.core.base import Record
from traindyno.core.codec import encode
from traindyno.core.errors import StoppedError, UsageError
from traindyno.worker.data.in_processes import Count, in_processes
from traindyno.worker.data.making_cifar10 import CIFAR10
from traindyno.worker.data.making_layout import Block, Layout, Like, MakeRequest
from traindyno.worker.data.making_photographs import IMAGENET, PLACES365
from traindyno.worker.data.set_files import (
    locked_folder,
    read_manifest,
    require_empty,
    require_space,
    unlike_fields,
    write_whole,
)

LAYOUTS: dict[Like, Layout] = {"imagenet": IMAGENET, "places365": PLACES365, "cifar10": CIFAR10}
MANIFEST = "traindyno-set.json"
# To be raised whenever the same request would give other bytes: a set is never made of two versions.
PICTURE_VERSION = 1
IMAGES_PER_CLASS = 20


class Manifest(Record, frozen=True):
    """What a made set says of itself, in a file beside its data."""

    request: MakeRequest
    finished: bool = False
    format: Literal["traindyno-set"] = "traindyno-set"
    picture_version: int = PICTURE_VERSION


@dataclass(frozen=True)
class MadeSet:
    """What was made: images that were there already count too."""

    data: str
    bytes: int


def settle(
    like: Like, images: int, classes: int | None = None, val_share: float | None = None, seed: int = 0
) -> MakeRequest:
    """The request with every default filled in. Each class gets an image in each split."""
    layout = LAYOUTS[like]
    classes = _settled_classes(like, images, classes)
    share = layout.val_share if val_share is None else val_share
    if layout.fixed and not share:
        raise UsageError(f"a set like {like} has test images", "leave --val-share out")
    val_images = max(round(images * share), classes) if share else 0
    if images - val_images < classes:
        least = max(2 * classes, 1 + int(classes / (1 - share))) if share else classes
        raise UsageError(
            f"{images} images cannot show each of {classes} classes in each split",
            f"ask for at least {least} images" + ("" if layout.fixed else ", or for fewer --classes"),
        )
    return MakeRequest(like=like, train_images=images - val_images, val_images=val_images, classes=classes, seed=seed)


def _settled_classes(like: Like, images: int, classes: int | None) -> int:
    """As many as asked for; else as many as the well-known set has, or fewer where each would have too few images."""
    layout = LAYOUTS[like]
    if layout.fixed and classes not in (None, layout.classes):
        raise UsageError(f"a set like {like} has {layout.classes} classes, not {classes}", "leave --classes out")
    if classes is not None or layout.fixed:
        return classes or layout.classes
    return min(layout.classes, max(2, images // IMAGES_PER_CLASS))


def make_set(
    folder: Path, request: MakeRequest, processes: int, count: Count, should_stop: Callable[[], bool]
) -> MadeSet:
    """Make what is missing of the set. The same request gives the same bytes, however many processes make it."""
    layout = LAYOUTS[request.like]
    if read_manifest(folder / MANIFEST, Manifest) is None:
        require_space(folder, request.images * layout.image_bytes)
    with locked_folder(folder):
        _begin(folder, request)
        done = made_bytes = 0
        work = partial(_write_block, folder, request)
        for images, block_bytes in in_processes(work, _blocks(layout, request), processes, should_stop):
            done, made_bytes = done + images, made_bytes + block_bytes
            count(done, request.images)
        if done < request.images:
            raise StoppedError(
                f"stopped with {done:,} of {request.images:,} images made",
                "what is done is kept: repeat the command to go on",
            )
        layout.finish(folder, request)
        _write_manifest(folder, Manifest(request=request, finished=True))
    return MadeSet(f"{layout.scheme}:{folder}", made_bytes)


def _begin(folder: Path, request: MakeRequest) -> None:
    """Claim an empty folder, or take up what the same request began."""
    there = read_manifest(folder / MANIFEST, Manifest)
    if there is None:
        require_empty(folder)
        _write_manifest(folder, Manifest(request=request))
    elif there != Manifest(request=request, finished=there.finished):
        unlike = unlike_fields(there.request, request) or "another version of traindyno"
        raise UsageError(f"{folder} holds another set, made with {unlike}", "name a new or an empty folder")


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_whole(folder / MANIFEST, encode(manifest).encode() + b"\n")


def _blocks(layout: Layout, request: MakeRequest) -> Iterator[Block]:
    for part, images in layout.parts(request).items():
        for first in range(0, images, layout.block_images):
            yield Block(part, first, min(first + layout.block_images, images))


def _write_block(folder: Path, request: MakeRequest, block: Block) -> tuple[int, int]:
    """The block's images and bytes."""
    return len(block), LAYOUTS[request.like].write_block(folder, request, block)
