"""How much host memory there is and how much of it this process may take, by the kernel and the cgroup."""

import os
from pathlib import Path

from traindyno.core.base import Record
from traindyno.core.machine import HostMemory
from traindyno.machine.cgroups import SYSTEM_ROOT, cgroup_folders
from traindyno.machine.files import read_pairs, read_text, whole_number

# Version 1 writes "no limit" as the largest whole number of pages; no machine has as much.
_UNLIMITED_BYTES = 2**62


class CgroupRoom(Record, frozen=True):
    """The limit of one group and what is left below it."""

    limit_bytes: int
    left_bytes: int


def host_memory(root: Path = SYSTEM_ROOT) -> HostMemory:
    """Memory, shared memory and swap as they are now."""
    meminfo = read_pairs(root / "proc/meminfo", ":")
    rooms = _cgroup_rooms(root)
    available = [_kibibytes(meminfo.get("MemAvailable")), *(room.left_bytes for room in rooms)]
    shared, shared_free = file_system_space(root / "dev/shm")
    return HostMemory(
        total_bytes=_kibibytes(meminfo.get("MemTotal")),
        available_bytes=min((size for size in available if size is not None), default=None),
        cgroup_limit_bytes=min((room.limit_bytes for room in rooms), default=None),
        shared_bytes=shared,
        shared_free_bytes=shared_free,
        swap_bytes=_kibibytes(meminfo.get("SwapTotal")),
        swap_free_bytes=_kibibytes(meminfo.get("SwapFree")),
    )


def default_memory_limit_bytes(root: Path = SYSTEM_ROOT) -> int | None:
    """Half of what is available: the `--memory-limit` of a trial on the CPU when the user names none."""
    available = host_memory(root).available_bytes
    return None if available is None else available // 2


def oom_kill_count(root: Path = SYSTEM_ROOT) -> int | None:
    """How often the kernel killed for want of memory: in the own cgroup if it counts, else system-wide.

    Only the difference of two readings means anything.
    """
    for folder in cgroup_folders("memory", root):
        for name in ("memory.events", "memory.oom_control"):
            count = whole_number(read_pairs(folder / name).get("oom_kill"))
            if count is not None:
                return count
    return whole_number(read_pairs(root / "proc/vmstat").get("oom_kill"))


def file_system_space(folder: Path) -> tuple[int | None, int | None]:
    """Size and free bytes (for an ordinary user) of the file system under `folder`."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None, None
    return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize


def _cgroup_rooms(root: Path) -> list[CgroupRoom]:
    rooms = [_cgroup_room(folder) for folder in cgroup_folders("memory", root)]
    return [room for room in rooms if room is not None]


def _cgroup_room(folder: Path) -> CgroupRoom | None:
    """Limit minus working set: files cached and not in use are charged to the group but give way at once."""
    limit = _first_count(folder, "memory.max", "memory.limit_in_bytes")
    used = _first_count(folder, "memory.current", "memory.usage_in_bytes")
    if limit is None or limit >= _UNLIMITED_BYTES:
        return None
    statistics = read_pairs(folder / "memory.stat")
    cached = statistics.get("total_inactive_file", statistics.get("inactive_file"))
    working_set = max(0, (used or 0) - (whole_number(cached) or 0))
    return CgroupRoom(limit_bytes=limit, left_bytes=max(0, limit - working_set))


def _first_count(folder: Path, *names: str) -> int | None:
    counts = (whole_number(read_text(folder / name)) for name in names)
    return next((count for count in counts if count is not None), None)


def _kibibytes(text: str | None) -> int | None:
    count = whole_number((text or "").removesuffix("kB").strip())
    return None if count is None else count * 1024
