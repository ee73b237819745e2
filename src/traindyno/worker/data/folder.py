"""Images in class folders: `folder:PATH`, with or without the splits of ImageNet and Places365."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.bad import bad_example, unreadable
from traindyno.worker.data.stored import Augmentation, Stored

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
SPLITS = {
    "train": ("val", "validation", "valid", "test"),
    "data_256": ("val_256",),
    "data_256_standard": ("val_256",),
    "data_large": ("val_large",),
    "data_large_standard": ("val_large",),
}
"""The folder to train on and those to infer on, the last four as Places365 and torchvision name them."""


class NameTable(Sequence[str]):
    """Many names, all below one folder, in two objects.

    Forked workers share it; of a list with a million strings they would each make a copy, page by page, because to
    look at a string is to change its reference count.
    """

    def __init__(self, folder: str, names: Iterable[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self._folder = folder
        self._joined = b"".join(encoded)
        self._ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        name = self._joined[self._ends[place] : self._ends[place + 1]]
        return os.path.join(self._folder, os.fsdecode(name))


@dataclass(eq=False)
class FolderExamples:
    """Encoded images by index, class after class."""

    files: NameTable
    labels: NDArray[np.int32]
    class_names: tuple[str, ...]
    classes: int
    augmentation: Augmentation = "resized_crop"

    @property
    def paths(self) -> Sequence[str]:
        return self.files

    def __len__(self) -> int:
        return len(self.files)

    def fetch(self, index: int) -> Stored:
        path = self.files[index]
        try:
            with open(path, "rb", buffering=0) as file:
                content = file.readall()
        except OSError as error:
            raise unreadable(path, error) from error
        if not content:
            raise bad_example(path, "it is empty (0 bytes)")
        return Stored(content, int(self.labels[index]), path)


def open_folder(path: str, mode: Mode) -> FolderExamples:
    """Find all images. A class is a folder that holds images, however deep, named by its path below `path`."""
    train, other = _splits(path)
    folder = train if mode == "train" else other
    found = [(relative, images) for relative, images in _walk(folder) if images]
    if not found:
        raise UsageError(
            f"{folder} holds no images",
            f"name a folder with one folder of {', '.join(EXTENSIONS)} files for each class",
        )
    class_names = tuple(relative for relative, _ in found)
    if folder != train:
        _check_same_classes(train, other, class_names)
    counts = [len(images) for _, images in found]
    return FolderExamples(
        files=NameTable(folder, (f"{relative}/{image}" for relative, images in found for image in images)),
        labels=np.repeat(np.arange(len(found), dtype=np.int32), counts),
        class_names=class_names,
        classes=len(found),
    )


def _splits(path: str) -> tuple[str, str]:
    """The folders to train and to infer on: two of those in `path`, or `path` itself for both."""
    for train, others in SPLITS.items():
        for other in others:
            pair = os.path.join(path, train), os.path.join(path, other)
            if all(map(os.path.isdir, pair)):
                return pair
    return path, path


def _walk(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder below and the images in it, everything sorted."""
    folders, images = _listed(folder)
    if images:
        raise _no_class(folder, images[0])
    for name in folders:
        yield from _walk_class(folder, name, {os.path.realpath(folder)})


def _walk_class(root: str, relative: str, above: set[str]) -> Iterator[tuple[str, list[str]]]:
    path = os.path.join(root, relative)
    real = os.path.realpath(path)
    if real in above:
        raise UsageError(f"the folder {path} leads back to one above it", "remove that link")
    folders, images = _listed(path)
    if not folders and not images:
        raise UsageError(
            f"the class folder {path} holds no images",
            "remove it or fill it: classes are numbered by their folders, also those without images",
        )
    yield relative, images
    for name in folders:
        yield from _walk_class(root, f"{relative}/{name}", above | {real})


def _listed(path: str) -> tuple[list[str], list[str]]:
    """Names of the folders and of the images in a folder; hidden ones are passed over."""
    folders, images = [], []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    folders.append(entry.name)
                elif entry.name.lower().endswith(EXTENSIONS):
                    images.append(entry.name)
    except NotADirectoryError:
        raise UsageError(f"{path} is a file, not a folder", "name the folder that holds the class folders") from None
    except OSError as error:
        raise UsageError(f"the folder {path} cannot be read ({error.strerror})", "check its permissions") from error
    return sorted(folders), sorted(images)


def _no_class(folder: str, image: str) -> UsageError:
    """Images outside any class folder, as the validation sets of Places365 and ImageNet come from their archives."""
    labels = {
        "Places365_val_": "Their labels are in places365_val.txt of Places365's file list.",
        "ILSVRC2012_val_": "Their labels are in ILSVRC2012_validation_ground_truth.txt of ImageNet's development kit.",
    }
    where = [text for prefix, text in labels.items() if image.startswith(prefix)]
    return UsageError(
        f"{folder} has images in no class folder, such as {image}, so their labels are missing",
        " ".join(["move them into one folder per class.", *where]),
    )


def _check_same_classes(train: str, other: str, class_names: Iterable[str]) -> None:
    """Labels of two splits agree only if the class folders do; the images of `train` need not be listed for that."""
    parents = {""}
    for name in class_names:
        parts = name.split("/")
        parents |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    for parent in sorted(parents):
        _check_same_folders(os.path.join(train, parent), os.path.join(other, parent))


def _check_same_folders(one: str, other: str) -> None:
    there = [set(_listed(folder)[0]) if os.path.isdir(folder) else set() for folder in (one, other)]
    unlike = sorted(there[0] ^ there[1])
    if unlike:
        has, lacks = (one, other) if unlike[0] in there[0] else (other, one)
        raise UsageError(
            f"{has} has the class folder {unlike[0]} and {lacks} does not",
            "classes are numbered by their folders, so both splits need the same ones",
        )
