"""Who holds a lease, in text that tells whether the holder still lives."""

import os
import socket
from functools import cache

from traindyno.core.base import Record

START_TOLERANCE_SECONDS = 2.0


class _Process(Record, frozen=True):
    host: str
    pid: int
    start_seconds: float


def owner_here() -> str:
    """This process as an owner: host, process namespace and machine, process id, start in seconds since boot."""
    pid = os.getpid()
    start_seconds = _start_seconds(pid)
    assert start_seconds is not None, "a running process has a start"
    return f"{_host_here()}:{pid}:{start_seconds:.2f}"


def is_live(owner: str | None, expires: float | None, now: float) -> bool:
    """Whether the holder of a lease must be respected: not expired, and not known to be dead."""
    if owner is None or expires is None or expires <= now:
        return False
    process = _parse(owner)
    if process is None or process.host != _host_here():
        return True
    start_seconds = _start_seconds(process.pid)
    return start_seconds is not None and abs(start_seconds - process.start_seconds) < START_TOLERANCE_SECONDS


def other_machine(owner: str) -> str | None:
    """The name of the owner's machine, if that is another than this one; null where it is not known to be."""
    process = _parse(owner)
    host, _, place = ("", "", "") if process is None else process.host.partition("/")
    machine = place.partition("/")[2]
    return host if machine and machine != _machine_here() else None


def pattern_here() -> str:
    """What SQL's LIKE finds the owners of this machine by; all of them where machines are not told apart."""
    machine = _machine_here()
    return f"%/{machine}:%" if machine else "%"


def describe_owner(owner: str) -> str:
    """The owner in words: `process 1234 on gpu-box`."""
    process = _parse(owner)
    return owner if process is None else f"process {process.pid} on {process.host.partition('/')[0]}"


def _host_here() -> str:
    """Containers and machines may share a host name, so the process namespace and the machine are named as well."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}/{''.join(filter(str.isdigit, namespace))}/{_machine_here()}"


@cache
def _machine_here() -> str:
    """What no other machine has, copies of this one included: the kernel's own name for this run of it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _parse(owner: str) -> _Process | None:
    host, *numbers = owner.rsplit(":", 2)
    try:
        pid, start_seconds = numbers
        return _Process(host=host, pid=int(pid), start_seconds=float(start_seconds))
    except ValueError:
        return None


def _start_seconds(pid: int) -> float | None:
    """When a process started, in seconds since boot, which no stepped clock moves; null when it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        boot_seconds = psutil.boot_time()
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return float(process.create_time() - boot_seconds)
    except psutil.NoSuchProcess:
        return None
