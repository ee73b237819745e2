"""Tell our own processes on a GPU from foreign ones, also where a container numbers processes differently."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from traindyno.core.units import format_bytes
from traindyno.machine.cgroups import SYSTEM_ROOT

# The kernel gives the first PID namespace this fixed number (PROC_PID_INIT_INO).
_FIRST_NAMESPACE = "pid:[4026531836]"

Processes = Mapping[int, tuple[str | None, int | None]]
"""By pid: name and GPU memory in bytes, each null when unknown."""


def foreign(processes: Processes, own_pids: Collection[int], root: Path = SYSTEM_ROOT) -> tuple[str, ...] | None:
    """The processes that are not ours, as text; null when the driver counts pids of another namespace.

    Older drivers tell a container the host's pids. There a stranger's and ours cannot be told apart,
    unless we have no process on the GPU at all (`own_pids` empty).
    """
    others = sorted(pid for pid in processes if pid not in own_pids)
    none_is_ours = len(others) == len(processes)
    if own_pids and none_is_ours and _contained(root) and any(not _exists(pid, root) for pid in others):
        return None
    return tuple(_describe(pid, *processes[pid]) for pid in others)


def _describe(pid: int, name: str | None, memory_bytes: int | None) -> str:
    memory = "" if memory_bytes is None else f", {format_bytes(memory_bytes)}"
    return f"pid {pid} ({name or 'name unknown'}{memory})"


def _contained(root: Path) -> bool:
    try:
        return os.readlink(root / "proc/self/ns/pid") != _FIRST_NAMESPACE
    except OSError:
        return True


def _exists(pid: int, root: Path) -> bool:
    return (root / "proc" / str(pid)).is_dir()
