"""What a process and all it has started use: CPU time, memory, bytes from disks. Unknown is null."""

from collections.abc import Sequence

import psutil

from traindyno.machine.descent import descendants_of, tells_children


class ProcessTree:
    """One process and its descendants, looked at again and again; what has ended meanwhile still counts.

    The CPU time of a child that has ended is in its parent's; what it had read from disks is remembered here.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._processes: list[psutil.Process] = []
        self._known: dict[int, psutil.Process] = {}
        self._disk_bytes: dict[tuple[int, float], int] = {}

    def look(self) -> None:
        """Find out which processes there are now, if possible without a look at all of the machine's."""
        if not tells_children(self.pid):
            self._processes = _by_all_of_the_machine(self.pid)
            return
        found = (self._known.get(pid) or _process(pid) for pid in (self.pid, *descendants_of(self.pid)))
        # A number may belong to another process by now; then it does not run.
        self._processes = [process for process in found if process is not None and process.is_running()]
        self._known = {process.pid: process for process in self._processes}

    @property
    def pids(self) -> Sequence[int]:
        return [process.pid for process in self._processes] or [self.pid]

    def cpu_seconds(self) -> float | None:
        seconds = [known for process in self._processes if (known := _cpu_seconds(process)) is not None]
        return sum(seconds) if seconds else None

    def memory_bytes(self) -> int | None:
        """Resident memory; pages that several processes share count for each of them."""
        sizes = [known for process in self._processes if (known := _resident_bytes(process)) is not None]
        return sum(sizes) if sizes else None

    def disk_read_bytes(self) -> int | None:
        """What was read from disks so far; null where the kernel does not tell."""
        for process in self._processes:
            try:
                self._disk_bytes[(process.pid, process.create_time())] = process.io_counters().read_bytes
            except (psutil.Error, AttributeError, OSError):
                continue
        return sum(self._disk_bytes.values()) if self._disk_bytes else None


def _by_all_of_the_machine(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _cpu_seconds(process: psutil.Process) -> float | None:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system + times.children_user + times.children_system)


def _resident_bytes(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return None
