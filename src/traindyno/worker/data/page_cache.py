"""The kernel's page cache: make it forget files, without root, and see how much of them it holds."""

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence

SAMPLED_FILES = 512

_CACHESTAT_CALL = 451
_WINDOW_BYTES = 1 << 28


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", "dirty", "writing", "evicted", "recently_evicted"))


def drop(paths: Iterable[str]) -> None:
    """Ask the kernel to forget the files. It keeps what is not yet written, so that is done first.

    It also keeps what a process has mapped, and a RAM disk has no other place for it: ask `cached_share` afterwards.
    """
    for path in paths:
        with contextlib.suppress(OSError), _opened(path) as descriptor:
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(paths: Sequence[str], sample: int = SAMPLED_FILES) -> float | None:
    """The share of the files' pages that are in memory, by evenly spread files; null where that cannot be known."""
    chosen = [paths[place] for place in range(0, len(paths), max(1, -(-len(paths) // sample)))]
    counts = [pages for pages in map(_pages, chosen) if pages is not None]
    whole = sum(pages for _, pages in counts)
    if not whole or len(counts) < len(chosen) / 2:
        return None
    return sum(cached for cached, _ in counts) / whole


def _pages(path: str) -> tuple[int, int] | None:
    """Pages of the file in memory, and all of them."""
    with contextlib.suppress(OSError), _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        cached = pages_by_cachestat(descriptor)
        if cached is None:
            cached = pages_by_mincore(descriptor, size)
        return None if cached is None else (cached, -(-size // mmap.PAGESIZE))
    return None


def pages_by_cachestat(descriptor: int) -> int | None:
    """From Linux 6.5 on."""
    everything, counts = _Range(0, 0), _Counts()
    failed = ctypes.CDLL(None).syscall(_CACHESTAT_CALL, descriptor, ctypes.byref(everything), ctypes.byref(counts), 0)
    return None if failed else int(counts.cached)


def pages_by_mincore(descriptor: int, size: int) -> int | None:
    """The older way. Of files that the caller may not write, the kernel claims every page; then nothing is known."""
    if not _may_know(descriptor):
        return None
    cached = 0
    for offset in range(0, size, _WINDOW_BYTES):
        length = min(_WINDOW_BYTES, size - offset)
        with mmap.mmap(descriptor, length, access=mmap.ACCESS_COPY, offset=offset) as window:
            found = _mincore(window, length)
        if found is None:
            return None
        cached += found
    return cached


def _mincore(window: mmap.mmap, length: int) -> int | None:
    states = (ctypes.c_ubyte * -(-length // mmap.PAGESIZE))()
    start = ctypes.c_char.from_buffer(window)
    failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(length), states)
    del start
    return None if failed else sum(state & 1 for state in states)


def _may_know(descriptor: int) -> bool:
    owned = os.fstat(descriptor).st_uid == os.geteuid()
    return owned or os.access(f"/proc/self/fd/{descriptor}", os.W_OK)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
