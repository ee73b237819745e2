"""Bring the data into the page cache, or out of it, before a trial; and say how far that went."""

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from traindyno.core.units import format_bytes
from traindyno.machine.memory import host_memory
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.memory import filesystem_of
from traindyno.worker.data.page_cache import SAMPLED_FILES, cached_share, drop
from traindyno.worker.data.pipeline import Data, is_stream
from traindyno.worker.data.sampling import Shuffled
from traindyno.worker.data.stored import Examples

# More than the caches of processors hold, and within seconds read from most disks.
WARM_BYTES = 1 << 30
COLD_ENOUGH = 0.05
RAM_DISKS = ("tmpfs", "ramfs")
SAMPLED_EXAMPLES = 64

Alive = Callable[[], None]


@dataclass(frozen=True)
class Warmth:
    """What the page cache held of the data when the loader started. Of the examples, `drawn` are used, or all."""

    cached_share: float | None = None
    notes: tuple[str, ...] = ()
    drawn: int | None = None


def make_cold(paths: Sequence[str]) -> Warmth:
    """Empty the page cache of the data, then look whether it is empty."""
    if not paths:
        return Warmth(notes=("the page cache was not emptied: no files are known that this data is read from",))
    drop(paths)
    share, on_ram_disk = cached_share(paths), _on_ram_disk(paths)
    if share is None:
        return Warmth(notes=("whether the page cache was emptied could not be verified", *on_ram_disk))
    failed = f"the page cache could not be emptied: {100 * share:.0f} % of the data was still in memory"
    return Warmth(share, (*((failed,) if share > COLD_ENOUGH else ()), *on_ram_disk))


def plan_warm(data: Data, seed: int, batch_size: int) -> Warmth:
    """How much of the data to read once before it is measured: all, or of large data a random part to keep to.

    Otherwise the first trial would read from disk what the second finds in memory, and the second would seem faster.
    """
    if not data.paths:
        return Warmth()
    notes = (*_on_ram_disk(data.paths), *_larger_than_memory(data.paths))
    if is_stream(data):
        return Warmth(notes=notes)
    sampled = Shuffled(len(data), seed, SAMPLED_EXAMPLES).drawn
    drawn = max(batch_size, WARM_BYTES * len(sampled) // max(1, _stored_bytes(data, sampled)))
    if drawn < len(data):
        notes = (*notes, f"measured on {drawn:,} of the {len(data):,} examples, so that all of them stay in memory")
    return Warmth(notes=notes, drawn=min(drawn, len(data)))


def _stored_bytes(data: Examples, indices: Sequence[int]) -> int:
    """Bad examples have no size; they are told of when they are used."""
    size = 0
    for index in indices:
        with contextlib.suppress(BadExampleError):
            content = data.fetch(index).content
            size += len(content) if isinstance(content, bytes) else content.nbytes
    return size


def read_files(paths: Sequence[str], alive: Alive) -> None:
    """Read files that hold a stream, up to the limit; those beyond it stay as they are."""
    left = WARM_BYTES
    for path in paths:
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
            while left > 0 and (content := file.read(1 << 24)):
                left -= len(content)
                alive()


def _on_ram_disk(paths: Sequence[str]) -> tuple[str, ...]:
    """By one file: sets do not lie on several disks."""
    kind = filesystem_of(paths[0])
    return (f"the files lie on a RAM disk ({kind})",) if kind in RAM_DISKS else ()


def _larger_than_memory(paths: Sequence[str]) -> tuple[str, ...]:
    chosen = [paths[place] for place in range(0, len(paths), max(1, len(paths) // SAMPLED_FILES))]
    size = sum(map(_size, chosen)) * len(paths) / len(chosen)
    available = host_memory().available_bytes
    if available is None or size <= available:
        return ()
    return (
        f"the data ({format_bytes(size)}) is larger than the memory that could hold it ({format_bytes(available)}): "
        "whole epochs will read from disk, and this was measured on data in memory",
    )


def _size(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0
