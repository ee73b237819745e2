"""The form of a prepared set on disk, version 1.

    prepared.json       the header: what was prepared from what, and the size and checksum of every file
    train/index.npy     a row of whole numbers for each example: see COLUMNS
    train/00000.u8      pixels (`u8`) or encoded images (`.jpegs`) of many examples, end to end
    val/…               the same, where the source has a split to infer on

Nothing in it is ever executed: the header is JSON, the index a plain array. While the set is being prepared, a
receipt beside each finished file of examples stands in for its part of the index.
"""

import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from traindyno.core.base import Record
from traindyno.core.codec import encode
from traindyno.core.errors import UsageError
from traindyno.worker.data.set_files import read_manifest, whole_file, write_whole

Encoding = Literal["u8", "jpeg"]
SplitName = Literal["train", "val"]
Index = NDArray[np.int64]

VERSION = 1
HEADER = "prepared.json"
COLUMNS = ("chunk", "offset", "length", "height", "width", "label")
ENDINGS: dict[Encoding, str] = {"u8": "u8", "jpeg": "jpegs"}
READ_BYTES = 2**22


class PrepareRequest(Record, frozen=True):
    """What to prepare from what. Everything that decides the bytes is in here and in the source."""

    source: str
    encoding: Encoding = "u8"
    shorter_side: int = 256
    quality: int | None = None


class PlannedSplit(Record, frozen=True):
    """What a split is to be: its examples, its files, and a fingerprint of the source that they come from."""

    name: SplitName
    examples: int
    chunks: int
    fingerprint: str


class WrittenFile(Record, frozen=True):
    """What a file must be to be intact."""

    bytes: int
    crc32: int


class StoredSplit(Record, frozen=True):
    """What a split has become. `examples` lacks the `skipped` ones."""

    name: SplitName
    examples: int
    skipped: tuple[str, ...]
    index: WrittenFile
    chunks: tuple[WrittenFile, ...]

    @property
    def bytes(self) -> int:
        return sum(chunk.bytes for chunk in self.chunks)


class Header(Record, frozen=True):
    """What a prepared set says of itself. Until it is finished it has no `splits`."""

    request: PrepareRequest
    classes: int
    planned: tuple[PlannedSplit, ...]
    class_names: tuple[str, ...] = ()
    splits: tuple[StoredSplit, ...] = ()
    format: Literal["traindyno-prepared"] = "traindyno-prepared"
    version: int = VERSION

    @property
    def finished(self) -> bool:
        return bool(self.splits)


class Receipt(Record, frozen=True):
    """What a finished file of examples holds: for each, the columns of the index but the first."""

    chunk: WrittenFile
    rows: tuple[tuple[int, int, int, int, int], ...]
    skipped: tuple[str, ...] = ()


def read_header(folder: Path) -> Header | None:
    """The header, or null where there is none."""
    version = (read_manifest(folder / HEADER, dict[str, Any]) or {}).get("version", VERSION)
    if version != VERSION:
        raise UsageError(
            f"{folder} was prepared in version {version} of the form; this traindyno knows version {VERSION}",
            "prepare it again, or use the traindyno that wrote it",
        )
    return read_manifest(folder / HEADER, Header)


def write_header(folder: Path, header: Header) -> None:
    write_whole(folder / HEADER, encode(header).encode() + b"\n")


def chunk_path(folder: Path, split: str, encoding: Encoding, number: int) -> Path:
    return folder / split / f"{number:05d}.{ENDINGS[encoding]}"


def index_path(folder: Path, split: str) -> Path:
    return folder / split / "index.npy"


def receipt_path(folder: Path, split: str, number: int) -> Path:
    return folder / split / f"{number:05d}.json"


def write_index(path: Path, index: Index) -> WrittenFile:
    with whole_file(path) as file:
        np.save(file, index, allow_pickle=False)
    return WrittenFile(bytes=path.stat().st_size, crc32=file_crc32(path))


def file_crc32(path: Path) -> int:
    """The checksum of a file's content."""
    crc32 = 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(READ_BYTES):
            crc32 = zlib.crc32(piece, crc32)
    return crc32


def is_intact(path: Path, written: WrittenFile) -> bool:
    """Whether the file is there with the size and the checksum it should have."""
    try:
        return path.stat().st_size == written.bytes and file_crc32(path) == written.crc32
    except FileNotFoundError:
        return False
