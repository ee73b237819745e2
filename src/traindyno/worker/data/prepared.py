"""Reads a prepared set: examples by index, straight from memory-mapped files: `prepared:PATH`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.prepared_format import (
    COLUMNS,
    Header,
    Index,
    StoredSplit,
    WrittenFile,
    chunk_path,
    file_crc32,
    index_path,
    read_header,
)
from traindyno.worker.data.stored import Augmentation, Pixels, Stored

_AGAIN = "remove it, and prepare it again with `traindyno data prepare`"


class PreparedExamples:
    """One split. Each process maps the files for itself when it first needs them; pickled, it is little but a path."""

    def __init__(self, folder: Path, header: Header, split: StoredSplit) -> None:
        self.classes = header.classes
        self.class_names = header.class_names
        self.augmentation: Augmentation = "crop" if header.request.encoding == "u8" else "resized_crop"
        self.index_path = index_path(folder, split.name)
        self._folder, self._split, self._encoding = folder, split.name, header.request.encoding
        self._name = str(folder / split.name)
        self._examples = split.examples
        self._index: Index | None = None
        self._chunks: list[Pixels | None] = [None] * len(split.chunks)

    @property
    def paths(self) -> Sequence[str]:
        return [str(self._path(number)) for number in range(len(self._chunks))]

    @property
    def index(self) -> Index:
        """A row for each example: see `COLUMNS`."""
        if self._index is None:
            self._index = np.load(self.index_path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        return self._index

    def __len__(self) -> int:
        return self._examples

    def fetch(self, index: int) -> Stored:
        chunk, offset, length, height, width, label = self.index[index].tolist()
        mapped = self._chunks[chunk]
        if mapped is None:
            mapped = self._chunks[chunk] = np.memmap(self._path(chunk), np.uint8, "r").view(np.ndarray)
        stored = mapped[offset : offset + length]
        content = stored.reshape(height, width, 3) if self._encoding == "u8" else stored.tobytes()
        return Stored(content, label, f"{self._name}#{index}")

    def _path(self, chunk: int) -> Path:
        return chunk_path(self._folder, self._split, self._encoding, chunk)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None, "_chunks": [None] * len(self._chunks)}


def open_prepared(path: str, mode: Mode) -> PreparedExamples:
    """Open the split to train on or, where there is one, the split to infer on; refuse what is damaged."""
    folder = Path(path)
    header = finished_header(folder)
    splits = {split.name: split for split in header.splits}
    split = splits.get("val", splits["train"]) if mode == "infer" else splits["train"]
    examples = PreparedExamples(folder, header, split)
    _check(examples, split)
    return examples


def finished_header(folder: Path) -> Header:
    """The header of a set that is ready to be read."""
    header = read_header(folder)
    if header is None:
        raise UsageError(f"{folder} is no prepared set", "make one with `traindyno data prepare SOURCE TARGET`")
    if not header.finished:
        raise UsageError(
            f"{folder} is not finished yet",
            f"go on with `traindyno data prepare {header.request.source} {folder}` and the same options",
        )
    return header


def enlarging_notes(data: str, size: int) -> tuple[str, ...]:
    """What to know where images are wanted larger than they were prepared, in memory or not."""
    kind, _, path = data.removeprefix("memory:").partition(":")
    if kind != "prepared":
        return ()
    stored = finished_header(Path(path).expanduser()).request.shorter_side
    if stored >= size:
        return ()
    return (
        f"the images were prepared with a shorter side of {stored} px and are enlarged to {size} px: "
        f"prepare them again with --shorter-side {size} or more",
    )


def _check(examples: PreparedExamples, split: StoredSplit) -> None:
    """Nothing may be cut short: to read beyond the end of a mapped file kills the process."""
    for path, chunk in zip(examples.paths, split.chunks, strict=True):
        _check_size(path, chunk)
    path = str(examples.index_path)
    _check_size(path, split.index)
    if file_crc32(examples.index_path) != split.index.crc32:
        raise UsageError(f"{path} is damaged: its checksum is wrong", _AGAIN)
    _check_index(examples, split)


def _check_index(examples: PreparedExamples, split: StoredSplit) -> None:
    try:
        index = examples.index
    except ValueError as error:
        raise UsageError(f"{examples.index_path} is no plain array: {error}", _AGAIN) from error
    if index.dtype != np.int64 or index.shape != (split.examples, len(COLUMNS)):
        raise UsageError(f"{examples.index_path} does not fit {split.examples:,} examples", _AGAIN)


def _check_size(path: str, written: WrittenFile) -> None:
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", _AGAIN) from error
    if size != written.bytes:
        raise UsageError(f"{path} is damaged: it has {size:,} bytes instead of {written.bytes:,}", _AGAIN)
