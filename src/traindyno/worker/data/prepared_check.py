"""Reads a whole prepared set and compares every file with its checksum."""

from collections.abc import Callable, Iterator
from pathlib import Path

from traindyno.core.errors import StoppedError
from traindyno.worker.data.in_processes import Count, in_processes
from traindyno.worker.data.prepared_format import Header, WrittenFile, chunk_path, index_path, is_intact


def damaged_files(
    folder: Path, header: Header, processes: int, count: Count, should_stop: Callable[[], bool]
) -> list[str]:
    """The files that are not what was written; none in an intact set."""
    files = list(_files(folder, header))
    damaged = []
    for done, (path, intact) in enumerate(in_processes(_checked, files, processes, should_stop), start=1):
        count(done, len(files))
        if not intact:
            damaged.append(str(path))
    if should_stop():
        raise StoppedError("stopped before every file was read", "repeat the command")
    return sorted(damaged)


def _files(folder: Path, header: Header) -> Iterator[tuple[Path, WrittenFile]]:
    for split in header.splits:
        yield index_path(folder, split.name), split.index
        for number, chunk in enumerate(split.chunks):
            yield chunk_path(folder, split.name, header.request.encoding, number), chunk


def _checked(file: tuple[Path, WrittenFile]) -> tuple[Path, bool]:
    path, written = file
    return path, is_intact(path, written)
