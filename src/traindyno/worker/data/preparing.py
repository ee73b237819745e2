"""Prepare a set: decode every example once, and store it so that loader workers only crop.

The examples are cut into chunks, whose number depends on the source alone. Each chunk becomes one file, written by one
process, and then gets a receipt; a chunk whose receipt fits it is never made again. So the work can be killed at any
moment and taken up later, with any number of processes, and ends with the same bytes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.worker.data.in_processes import Count, in_processes
from traindyno.worker.data.prepared_format import (
    ENDINGS,
    Header,
    Index,
    PlannedSplit,
    PrepareRequest,
    Receipt,
    StoredSplit,
    index_path,
    read_header,
    receipt_path,
    write_header,
    write_index,
)
from traindyno.worker.data.preparing_chunks import ChunkTask, store_chunk
from traindyno.worker.data.preparing_places import require_apart, same_source
from traindyno.worker.data.preparing_source import SourceSplit, open_splits
from traindyno.worker.data.set_files import (
    PARTIAL,
    locked_folder,
    read_manifest,
    require_empty,
    require_space,
    unlike_fields,
)


@dataclass(frozen=True)
class Plan:
    """A source that was opened and the header that its set will begin with."""

    header: Header
    splits: tuple[SourceSplit, ...]

    @property
    def examples(self) -> int:
        return sum(split.examples for split in self.header.planned)


def as_begun(folder: Path, request: PrepareRequest) -> PrepareRequest:
    """The request with its source named as in the folder, if a set of that very source was begun there."""
    there = read_header(folder)
    if there is None or not same_source(there.request.source, request.source):
        return request
    return msgspec.structs.replace(request, source=there.request.source)


def plan(request: PrepareRequest) -> Plan:
    """Open the source and see what there is to do."""
    splits = open_splits(request.source)
    header = Header(
        request=request,
        classes=splits[0].examples.classes,
        class_names=tuple(getattr(splits[0].examples, "class_names", ())),
        planned=tuple(split.planned for split in splits),
    )
    return Plan(header, splits)


def begun(folder: Path, header: Header) -> Header | None:
    """What the folder holds of this very set already; another set, or anything else, is refused."""
    require_apart(header.request.source, folder)
    there = read_header(folder)
    if there is None:
        require_empty(folder)
    elif msgspec.structs.replace(there, splits=()) != header:
        raise UsageError(
            f"{folder} holds another set, prepared from {_difference(there, header)}", "name a new or an empty folder"
        )
    return there


def prepare_set(
    folder: Path,
    plan: Plan,
    expected_bytes: int,
    processes: int,
    skip_bad: bool,
    count: Count,
    should_stop: Callable[[], bool],
) -> Header:
    """Prepare what is missing, and finish the set."""
    require_space(folder, expected_bytes - _bytes_there(folder, plan.header))
    with locked_folder(folder):
        there = begun(folder, plan.header)
        if there is not None and there.finished:
            return there
        write_header(folder, plan.header)
        done = 0
        for examples in in_processes(store_chunk, _tasks(folder, plan, skip_bad), processes, should_stop):
            done += examples
            count(done, plan.examples)
        if done < plan.examples and should_stop():
            raise StoppedError(
                f"stopped with {done:,} of {plan.examples:,} examples prepared",
                "what is done is kept: repeat the command to go on",
            )
        return _finish(folder, plan.header)


def _tasks(folder: Path, plan: Plan, skip_bad: bool) -> Iterator[ChunkTask]:
    for split in plan.splits:
        for number in range(split.planned.chunks):
            yield ChunkTask(folder, plan.header.request, split.planned, split.mode, number, skip_bad)


def _bytes_there(folder: Path, header: Header) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"*/*.{ENDINGS[header.request.encoding]}"))


def _difference(there: Header, header: Header) -> str:
    if there.request == header.request:
        return f"{there.request.source} before that changed"
    return f"{there.request.source} with {unlike_fields(there.request, header.request)}"


def _finish(folder: Path, header: Header) -> Header:
    """Put the receipts together to the index. Only the header at the end makes a set of it."""
    splits = tuple(_finish_split(folder, planned) for planned in header.planned)
    finished = msgspec.structs.replace(header, splits=splits)
    write_header(folder, finished)
    for planned in header.planned:
        for left_over in (folder / planned.name).glob("*.json"):
            left_over.unlink()
        for left_over in (folder / planned.name).glob(f".*{PARTIAL}"):
            left_over.unlink()
    return finished


def _finish_split(folder: Path, planned: PlannedSplit) -> StoredSplit:
    receipts = [_receipt(folder, planned, number) for number in range(planned.chunks)]
    index = _index(receipts)
    if not len(index):
        raise TraindynoError(f"not one example of {planned.name} could be used", "check the source")
    return StoredSplit(
        name=planned.name,
        examples=len(index),
        skipped=tuple(name for receipt in receipts for name in receipt.skipped),
        index=write_index(index_path(folder, planned.name), index),
        chunks=tuple(receipt.chunk for receipt in receipts),
    )


def _receipt(folder: Path, planned: PlannedSplit, number: int) -> Receipt:
    receipt = read_manifest(receipt_path(folder, planned.name, number), Receipt)
    assert receipt is not None, "every chunk was stored"
    return receipt


def _index(receipts: list[Receipt]) -> Index:
    rows = [(number, *row) for number, receipt in enumerate(receipts) for row in receipt.rows]
    return np.array(rows, np.int64)
