"""One chunk of a prepared set: its examples end to end in one file, and then the receipt that makes them count."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from traindyno.core.codec import encode
from traindyno.core.errors import UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.converting import Converted
from traindyno.worker.data.prepared_format import (
    PlannedSplit,
    PrepareRequest,
    Receipt,
    WrittenFile,
    chunk_path,
    is_intact,
    receipt_path,
)
from traindyno.worker.data.preparing_source import readings, reopened
from traindyno.worker.data.set_files import read_manifest, whole_file, write_whole


@dataclass(frozen=True)
class ChunkTask:
    """A chunk to store, with what a fresh process needs to know for it."""

    folder: Path
    request: PrepareRequest
    split: PlannedSplit
    mode: Mode
    number: int
    skip_bad: bool


def store_chunk(task: ChunkTask) -> int:
    """Store the chunk, unless it is stored and intact already; how many examples of the source it stands for."""
    path = chunk_path(task.folder, task.split.name, task.request.encoding, task.number)
    receipt = _kept(task, path)
    if receipt is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        receipt = _write(task, path)
        write_whole(receipt_path(task.folder, task.split.name, task.number), encode(receipt).encode())
    return len(receipt.rows) + len(receipt.skipped)


def _kept(task: ChunkTask, path: Path) -> Receipt | None:
    """The receipt of an earlier call, if its file is intact; bad examples it left out must be allowed now too."""
    try:
        receipt = read_manifest(receipt_path(task.folder, task.split.name, task.number), Receipt)
    except UsageError:
        return None
    if receipt is None or (receipt.skipped and not task.skip_bad) or not is_intact(path, receipt.chunk):
        return None
    return receipt


def _write(task: ChunkTask, path: Path) -> Receipt:
    rows: list[tuple[int, int, int, int, int]] = []
    skipped: list[str] = []
    offset = checksum = 0
    with whole_file(path) as file:
        for converted, label in _examples(task, skipped):
            file.write(converted.content)
            checksum = crc32(converted.content, checksum)
            rows.append((offset, len(converted.content), converted.height, converted.width, label))
            offset += len(converted.content)
    return Receipt(chunk=WrittenFile(bytes=offset, crc32=checksum), rows=tuple(rows), skipped=tuple(skipped))


def _examples(task: ChunkTask, skipped: list[str]) -> Iterator[tuple[Converted, int]]:
    """The converted examples with their labels. A bad one ends the work or, if the user will have it so, is noted."""
    source = reopened(task.request.source, task.mode, task.split)
    for reading in readings(task.request, source, task.split, task.number):
        try:
            example = reading()
        except BadExampleError as error:
            if not task.skip_bad:
                raise
            skipped.append(error.name)
        else:
            yield example
