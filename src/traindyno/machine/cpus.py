"""How many CPUs this process may really use: the tightest of affinity, cgroup quota and grant."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from traindyno.core.machine import UsableCpus
from traindyno.machine.cgroups import SYSTEM_ROOT, cgroup_folders
from traindyno.machine.files import read_lines, read_pairs, read_text, whole_number
from traindyno.machine.schedulers import cpu_grant


def usable_cpus(
    local_ranks: int = 1,
    root: Path = SYSTEM_ROOT,
    environment: Mapping[str, str] | None = None,
    hostname: str | None = None,
) -> UsableCpus:
    """CPUs for each of `local_ranks` processes on this node, with every limit and the one that binds."""
    assert local_ranks >= 1
    grant = cpu_grant(os.environ if environment is None else environment, hostname or socket.gethostname())
    online, affinity, quota = online_cpus(root), _affinity(root), cpu_quota(root)
    limits: list[tuple[float, str]] = []
    if quota is not None:
        limits.append((quota, f"the cgroup's quota of {quota:g} CPUs"))
    if grant is not None:
        limits.append((grant.cpus, f"the grant of {grant.cpus} CPUs by {grant.source}"))
    if affinity is not None and (online is None or affinity < online):
        limits.append((affinity, f"the affinity mask of {affinity} CPUs"))
    if online is not None:
        limits.append((online, f"the {online} CPUs that are online"))
    unread = (1.0, "nothing but the one CPU this runs on, as no limit could be read")
    cpus, binding = min(limits, key=lambda limit: limit[0], default=unread)
    return UsableCpus(
        value=cpus / local_ranks,
        binding=binding,
        online=online,
        affinity=affinity,
        quota=quota,
        grant=None if grant is None else grant.cpus,
        grant_source=None if grant is None else grant.source,
        local_ranks=local_ranks,
    )


def cpu_quota(root: Path = SYSTEM_ROOT) -> float | None:
    """The tightest CPU bandwidth limit from the own cgroup upwards, in CPUs; null when there is none."""
    quotas = [_folder_quota(folder) for folder in cgroup_folders("cpu", root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folder_quota(folder: Path) -> float | None:
    """`cpu.max` holds `quota period` in version 2; version 1 keeps them in two files."""
    unified = (read_text(folder / "cpu.max") or "").split()
    if len(unified) == 2:
        quota, period = whole_number(unified[0]), whole_number(unified[1])
    else:
        quota = whole_number(read_text(folder / "cpu.cfs_quota_us"))
        period = whole_number(read_text(folder / "cpu.cfs_period_us"))
    return quota / period if quota and period else None


def online_cpus(root: Path = SYSTEM_ROOT) -> int | None:
    """CPUs the kernel runs on, whoever may use them."""
    listed = count_cpus(read_text(root / "sys/devices/system/cpu/online") or "")
    processors = sum(line.startswith("processor") for line in read_lines(root / "proc/cpuinfo"))
    return listed or processors or None


def _affinity(root: Path) -> int | None:
    """Size of the affinity mask. Some sandboxes leave it out of /proc, where the system call still knows."""
    listed = count_cpus(read_pairs(root / "proc/self/status", ":").get("Cpus_allowed_list", ""))
    if listed is None and root == SYSTEM_ROOT and hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return listed


def count_cpus(text: str) -> int | None:
    """How many CPUs a kernel list such as `0-3,8,10-11` names; null for an empty or strange one."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if low is None or high is None:
            return None
        cpus.update(range(low, high + 1))
    return len(cpus) or None


def cpu_model(root: Path = SYSTEM_ROOT) -> str | None:
    """The processor's name by /proc/cpuinfo (ARM kernels do not print one)."""
    return read_pairs(root / "proc/cpuinfo", ":").get("model name") or None
