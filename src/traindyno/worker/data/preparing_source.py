"""The source of a prepared set: its splits, what they are known by, and how their examples are dealt out to chunks."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import cast

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.bad import read_example, read_stream
from traindyno.worker.data.converting import Converted, convert
from traindyno.worker.data.prepared_format import PlannedSplit, PrepareRequest, SplitName
from traindyno.worker.data.sources import is_by_index, open_examples
from traindyno.worker.data.stored import Examples, ExampleStream

# A reader keeps every chunk open, and a process may often open no more than 1,024 files.
MOST_CHUNKS = 256
LEAST_CHUNK_EXAMPLES = 64

Source = Examples | ExampleStream
Reading = Callable[[], tuple[Converted, int]]
"""Reads and converts one example, and gives its label too; a bad one raises `BadExampleError`."""


@dataclass(frozen=True)
class SourceSplit:
    """A split, opened; `mode` is what the source knows it by."""

    mode: Mode
    examples: Source
    planned: PlannedSplit


def open_splits(source: str) -> tuple[SourceSplit, ...]:
    """What to train on and, if it is something else, what to infer on."""
    if source.startswith("memory:"):
        raise UsageError("each example is read only once, so memory: is of no use here", f"write {source[7:]}")
    train, infer = open_examples(source, "train"), open_examples(source, "infer")
    if _fingerprint(train) == _fingerprint(infer):
        # To infer, shards are read in their order, without a shuffle buffer.
        return (_split("train", "infer", infer),)
    return _split("train", "train", train), _split("val", "infer", infer)


def readings(request: PrepareRequest, examples: Source, split: PlannedSplit, chunk: int) -> Iterator[Reading]:
    """One reading for each example of a chunk."""
    use = partial(convert, request)
    if is_by_index(examples):
        first, last = (edge * split.examples // split.chunks for edge in (chunk, chunk + 1))
        for index in range(first, last):
            yield partial(read_example, examples, index, use)
        return
    for stored in cast(ExampleStream, examples).stream(chunk, split.chunks, seed=0):
        yield partial(next, read_stream([stored], use))


def sample_readings(request: PrepareRequest, split: SourceSplit, wanted: int) -> Iterator[Reading]:
    """Readings from all over the split, or, of a stream, from its beginning."""
    if not is_by_index(split.examples):
        return islice(readings(request, split.examples, split.planned, 0), wanted)
    examples, count = split.examples, split.planned.examples
    places = dict.fromkeys(number * count // wanted for number in range(wanted))
    return (partial(read_example, examples, index, partial(convert, request)) for index in places)


@lru_cache(maxsize=2)
def reopened(source: str, mode: Mode, split: PlannedSplit) -> Source:
    """The split again, in a process that writes chunks of it; opened once there."""
    examples = open_examples(source, mode)
    if len(examples) != split.examples:
        raise TraindynoError(
            f"{source} has changed: it had {split.examples:,} examples and now has {len(examples):,}",
            "prepare it again when nothing writes to it",
        )
    return examples


def _split(name: SplitName, mode: Mode, examples: Source) -> SourceSplit:
    count = len(examples)
    most = -(-count // LEAST_CHUNK_EXAMPLES) if is_by_index(examples) else len(examples.paths)
    chunks = min(MOST_CHUNKS, most)
    planned = PlannedSplit(name=name, examples=count, chunks=chunks, fingerprint=_fingerprint(examples))
    return SourceSplit(mode, examples, planned)


def _fingerprint(examples: Source) -> str:
    """Tells sources apart by the number of examples and the names of their files or, without files, by an example."""
    digest = hashlib.blake2b(str(len(examples)).encode(), digest_size=16)
    for path in examples.paths:
        digest.update(path.encode(errors="surrogateescape") + b"\0")
    if not examples.paths and is_by_index(examples):
        content = examples.fetch(0).content
        digest.update(content if isinstance(content, bytes) else content.tobytes())
    return digest.hexdigest()
