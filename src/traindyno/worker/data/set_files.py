"""Folders of data that traindyno writes: empty or its own, one writer at a time, files whole or absent."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from traindyno.core.base import Record
from traindyno.core.codec import decode
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.units import format_bytes

PARTIAL = ".partial"
SPARE_BYTES = 64 * 2**20

Kind = TypeVar("Kind")


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make the folder if need be, and hold it for ourselves; the kernel frees it when its holder dies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} is a file, not a folder", "name a folder") from None
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be made: {error.strerror}", "name one you can write to"
        ) from error
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TraindynoError(f"another traindyno is writing to {folder}", "wait until it has finished") from None
    except OSError:
        # Some network file systems cannot lock a folder; there the user sees to it.
        return


def read_manifest(path: Path, kind: type[Kind]) -> Kind | None:
    """What the file says; null where there is none."""
    try:
        return decode(path.read_bytes(), kind)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise UsageError(f"{path.parent} is a file, not a folder", "name a folder") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} cannot be understood: {error}", "it is damaged, or of another version") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error


def unlike_fields(there: Record, wanted: Record) -> str:
    """In which fields two records of one kind differ, in words."""
    old, new = msgspec.to_builtins(there), msgspec.to_builtins(wanted)
    return ", ".join(
        f"{name.replace('_', ' ')} {old[name]} instead of {new[name]}" for name in old if old[name] != new[name]
    )


def require_empty(folder: Path) -> None:
    """Refuse to write among somebody's files; what an earlier call left unfinished is nobody's."""
    there = folder.iterdir() if folder.exists() else iter(())
    found = next((path for path in there if not path.name.endswith(PARTIAL)), None)
    if found is not None:
        raise UsageError(f"{folder} is not empty: it holds {found.name}", "name a new or an empty folder")


def require_space(folder: Path, wanted_bytes: float) -> None:
    """Refuse work whose result the disk cannot hold."""
    free = free_bytes(folder)
    if wanted_bytes + SPARE_BYTES > free:
        raise TraindynoError(
            f"about {format_bytes(wanted_bytes)} are needed in {folder}, and {format_bytes(free)} are free",
            "free some space, name a folder on another disk, or ask for less",
        )


def free_bytes(folder: Path) -> int:
    """Space left on the disk where the folder is, or will be."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.is_dir())
    return shutil.disk_usage(there).free


def partial(path: Path) -> Path:
    """Where a file is written until it is whole; hidden, so that nobody takes it for data."""
    return path.with_name(f".{path.name}{PARTIAL}")


@contextmanager
def whole_file(path: Path, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write that gets its name when the block ends well: it is there with all of its content or not at all.

    A durable one survives the end of the machine, not only of the process; that costs a wait for the disk.
    """
    try:
        with partial(path).open("wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        partial(path).replace(path)
        if durable:
            _flush_folder(path.parent)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise TraindynoError(
            f"the disk became full while {path} was written",
            "what is done is kept: free some space and repeat the command",
        ) from error


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, content: bytes, durable: bool = True) -> None:
    with whole_file(path, durable) as file:
        file.write(content)
