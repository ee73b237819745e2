"""One traindyno at a time on each GPU: a locked file, which the kernel frees when its holder dies."""

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from traindyno.core.errors import TraindynoError
from traindyno.core.machine import GpuFacts
from traindyno.machine.files import read_text
from traindyno.machine.gpu import GpuReader, cuda_index, open_reader


@contextmanager
def device_lock(device: str, reader: GpuReader | None = None, folder: Path | None = None) -> Iterator[None]:
    """Hold `cuda:N` for ourselves as long as the block runs; a CPU needs no lock.

    The lock follows the GPU's UUID: `cuda:0` of one process and `cuda:3` of another may be the same card.
    """
    index = cuda_index(device)
    if index is None:
        yield
        return
    gpu = _gpu(index, reader)
    name = (device if gpu is None else gpu.uuid).replace(":", "-").replace("/", "-")
    descriptor = _lock((folder or runtime_folder()) / f"{name}.lock", _describe(device, gpu))
    try:
        _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def noticed_neighbour(device: str, folder: Path | None = None) -> Iterator[str | None]:
    """On a CPU, who else measures there now, in words; nobody is refused, since each may have cores of its own."""
    if device != "cpu":
        yield None
        return
    try:
        descriptor = _lock((folder or runtime_folder()) / "cpu.lock", "this CPU")
    except TraindynoError as error:
        yield error.message
        return
    try:
        _sign(descriptor)
        yield None
    finally:
        os.close(descriptor)


def runtime_folder(environment: Mapping[str, str] | None = None, temporary: Path = Path("/tmp")) -> Path:
    """A folder of this user's alone, made if need be: in XDG_RUNTIME_DIR, or else in /tmp."""
    given = (os.environ if environment is None else environment).get("XDG_RUNTIME_DIR")
    if given and os.access(given, os.W_OK | os.X_OK):
        folder = Path(given) / "traindyno"
    else:
        folder = temporary / f"traindyno-{os.getuid()}"
    _make_private(folder)
    return folder


def _make_private(folder: Path) -> None:
    """In a shared /tmp somebody else may have made the folder first, or a link to one of theirs."""
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    except OSError as error:
        hint = "set XDG_RUNTIME_DIR to a folder that you can write to"
        raise TraindynoError(f"no folder for locks can be made at {folder}: {error.strerror}", hint) from error
    status = folder.lstat()
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not ours or status.st_mode & 0o077:
        raise TraindynoError(
            f"{folder} is not a private folder of yours, so no lock in it can be trusted",
            f"remove it (rm -r {folder}), or set XDG_RUNTIME_DIR to a folder that only you can enter",
        )


def _gpu(index: int, reader: GpuReader | None) -> GpuFacts | None:
    if reader is not None:
        return next((gpu for gpu in reader.gpus() if gpu.index == index), None)
    opened = open_reader()
    try:
        return _gpu(index, opened)
    finally:
        opened.close()


def _describe(device: str, gpu: GpuFacts | None) -> str:
    return device if gpu is None else f"{device} ({gpu.name})"


def _lock(path: Path, device: str) -> int:
    """An open and locked file. Programs we start do not inherit it: the lock ends with this process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        holder = read_text(path) or "which has not signed its lock yet"
        raise TraindynoError(
            f"{device} is being measured by another traindyno, {holder}",
            "wait until it has finished, or choose another GPU with --device cuda:N",
        ) from error
    return descriptor


def _sign(descriptor: int) -> None:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} since {since}".encode(), 0)
