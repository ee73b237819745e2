"""Another source held in RAM as it is stored, encoded images still encoded: `memory:SOURCE`."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from traindyno.core.errors import TraindynoError
from traindyno.core.units import format_bytes
from traindyno.machine.files import read_lines
from traindyno.machine.memory import host_memory
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.folder import NameTable
from traindyno.worker.data.stored import Augmentation, Examples, Pixels, Stored

Progress = Callable[[int, int], None]

THREADS = 16
EXAMPLES_AT_ONCE = 1024
EXAMPLES_PER_TASK = 32
LARGEST_SHARE = 0.9


@dataclass(eq=False)
class MemoryExamples:
    """All contents end to end in one buffer, which forked workers share; to pickle it copies it.

    `shapes` has height and width of pixels, and zeros where the content is an encoded image. `bad` keeps what was
    wrong with examples that could not be read: they are errors when they are asked for, as they are on disk.
    """

    buffer: NDArray[np.uint8]
    ends: NDArray[np.int64]
    shapes: NDArray[np.int32]
    labels: NDArray[np.int64]
    names: NameTable
    bad: dict[int, str]
    classes: int
    augmentation: Augmentation

    @property
    def paths(self) -> Sequence[str]:
        return ()

    def __len__(self) -> int:
        return len(self.labels)

    def fetch(self, index: int) -> Stored:
        if index in self.bad:
            raise BadExampleError(self.bad[index], name=self.names[index])
        held = self.buffer[self.ends[index] : self.ends[index + 1]]
        height, width = self.shapes[index]
        content = held.reshape(height, width, 3) if height else held.tobytes()
        return Stored(content, int(self.labels[index]), self.names[index])


def hold_in_memory(examples: Examples, progress: Progress | None = None) -> Examples:
    """Read everything once, if there is room for it; a source without files is in memory already."""
    if not examples.paths:
        return examples
    with ThreadPoolExecutor(THREADS) as pool:
        needed = _stored_bytes(examples.paths, pool)
        check_room(needed, host_memory().available_bytes)
        return _held(examples, needed, pool, progress)


def check_room(needed_bytes: int, available_bytes: int | None) -> None:
    """Refuse before reading what would fill the memory."""
    if available_bytes is not None and needed_bytes > LARGEST_SHARE * available_bytes:
        raise TraindynoError(
            f"memory: needs {format_bytes(needed_bytes)} of RAM for this data, and {format_bytes(available_bytes)} "
            f"are available (at most {LARGEST_SHARE:.0%} of it is used)",
            "leave memory: away to read the files themselves, make the data smaller with `traindyno data prepare`, "
            "or free memory",
        )


def _held(examples: Examples, capacity: int, pool: ThreadPoolExecutor, progress: Progress | None) -> MemoryExamples:
    count = len(examples)
    buffer = np.empty(capacity, np.uint8)
    ends, shapes = np.zeros(count + 1, np.int64), np.zeros((count, 2), np.int32)
    labels = np.zeros(count, np.int64)
    names: list[str] = []
    bad: dict[int, str] = {}
    for index, read in enumerate(_read_all(examples, pool, progress)):
        ends[index + 1] = ends[index]
        names.append(read.name)
        if isinstance(read, BadExampleError):
            bad[index] = read.message
            continue
        ends[index + 1] += _put(buffer[ends[index] :], read.content)
        shapes[index] = 0 if isinstance(read.content, bytes) else read.content.shape[:2]
        labels[index] = read.label
    held = buffer[: ends[-1]]
    held.flags.writeable = False
    return MemoryExamples(
        held, ends, shapes, labels, NameTable("", names), bad, examples.classes, examples.augmentation
    )


def _put(room: NDArray[np.uint8], content: bytes | Pixels) -> int:
    """Copy the content to the start of the room; how many bytes it took."""
    flat = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content.reshape(-1)
    if len(flat) > len(room):
        raise TraindynoError("the files grew while they were read into memory", "try again when nothing writes to them")
    room[: len(flat)] = flat
    return len(flat)


def _read_all(
    examples: Examples, pool: ThreadPoolExecutor, progress: Progress | None
) -> Iterator[Stored | BadExampleError]:
    """All examples in order, some read ahead by threads; a bad one as its error."""

    def read(part: range) -> list[Stored | BadExampleError]:
        return [_fetched(examples, index) for index in part]

    total = len(examples)
    for some in _parts(range(total), EXAMPLES_AT_ONCE):
        yield from chain.from_iterable(pool.map(read, _parts(some, EXAMPLES_PER_TASK)))
        if progress is not None:
            progress(some.stop, total)


def _fetched(examples: Examples, index: int) -> Stored | BadExampleError:
    try:
        return examples.fetch(index)
    except BadExampleError as error:
        return error


def _stored_bytes(paths: Sequence[str], pool: ThreadPoolExecutor) -> int:
    def total(part: range) -> int:
        return sum(_size(paths[index]) for index in part)

    return sum(pool.map(total, _parts(range(len(paths)), EXAMPLES_AT_ONCE)))


def _size(path: str) -> int:
    """Nothing for what is not there: reading it says so."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _parts(whole: range, length: int) -> list[range]:
    return [whole[start : start + length] for start in range(0, len(whole), length)]


def filesystem_of(path: str, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of file system that holds a path: `ext4`, `nfs4`, or `tmpfs` for a RAM disk."""
    real = os.path.realpath(path)
    kinds = {"": "unknown"}
    for line in read_lines(mounts):
        _, point, kind, *_ = line.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda escaped: chr(int(escaped[1], 8)), point)
        if f"{real}/".startswith(f"{point.rstrip('/')}/"):
            kinds[point] = kind
    return kinds[max(kinds, key=len)]
