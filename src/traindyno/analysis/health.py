"""Judge a machine by its facts: what is well, what to know, what stands in the way and how to mend it."""

from collections.abc import Callable, Iterator

from traindyno.analysis.cautions import BUSY_FROM
from traindyno.analysis.health_gpu import examine_cuda, examine_gpus
from traindyno.core.machine import DiskSpace, DoctorFacts, Finding
from traindyno.core.units import format_bytes, format_percent

GIBIBYTE = 2**30
SMALLEST_SHARED_BYTES = GIBIBYTE
SMALLEST_AVAILABLE_BYTES = 2 * GIBIBYTE
SMALLEST_DISK_BYTES = 5 * GIBIBYTE
MUCH_SWAPPED_BYTES = GIBIBYTE
FEWEST_OPEN_FILES = 4096
WANTED_OPEN_FILES = 65536
UNLIMITED_OPEN_FILES = 2**62


def examine(facts: DoctorFacts) -> tuple[Finding, ...]:
    """Every finding about the machine, in the order in which to read them."""
    chapters: tuple[Callable[[DoctorFacts], Iterator[Finding]], ...] = (
        _versions, _bytecode, examine_cuda, examine_gpus, _cpus, _other_work, _memory, _swap, _shared_memory,
        _open_files, _disks,
    )  # fmt: skip
    return tuple(finding for chapter in chapters for finding in chapter(facts))


def _versions(facts: DoctorFacts) -> Iterator[Finding]:
    machine = facts.machine
    text = f"traindyno {machine.traindyno} on Python {machine.python}, {machine.system}"
    yield Finding(level="ok", subject="versions", text=text)
    for package, version in (("torch", machine.torch), ("torchvision", machine.torchvision)):
        if version is None:
            remedy = "install it: pip install torch torchvision"
            yield Finding(level="problem", subject=package, text=f"{package} is not installed", remedy=remedy)
        else:
            yield Finding(level="ok", subject=package, text=f"{package} {version}")


def _bytecode(facts: DoctorFacts) -> Iterator[Finding]:
    if facts.torch_keeps_bytecode is False:
        yield Finding(
            level="note",
            subject="bytecode",
            text="torch has none and Python keeps none: each start, and each step to be compiled, takes seconds longer",
            remedy="export PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=~/.cache/bytecode",
        )


def _cpus(facts: DoctorFacts) -> Iterator[Finding]:
    cpus = facts.cpus
    text = f"{cpus.value:g} usable, bound by {cpus.binding}"
    crowded = cpus.quota is not None and cpus.online is not None and cpus.quota < cpus.online
    threads = max(1, int(cpus.value))
    if not crowded or (facts.omp_num_threads is not None and facts.omp_num_threads <= threads):
        yield Finding(level="ok", subject="cpus", text=text)
        return
    yield Finding(
        level="note",
        subject="cpus",
        text=f"{text}, while {cpus.online} are online: libraries that count those start too many threads",
        remedy=f"export OMP_NUM_THREADS={threads}",
    )


def _other_work(facts: DoctorFacts) -> Iterator[Finding]:
    share = facts.other_cpu_share
    if share is None:
        return
    text = f"others take {format_percent(share, 0)} of the CPUs"
    if share < BUSY_FROM:
        yield Finding(level="ok", subject="other work", text=text)
        return
    yield Finding(
        level="note",
        subject="other work",
        text=f"{text}: what computes, loads or launches on them is slower, and differs from trial to trial",
        remedy="see who it is (ps aux --sort=-%cpu | head) and wait; in a virtual machine it may be another one",
    )


def _memory(facts: DoctorFacts) -> Iterator[Finding]:
    memory = facts.memory
    text = f"{format_bytes(memory.available_bytes)} available of {format_bytes(memory.total_bytes)}"
    if memory.cgroup_limit_bytes is not None:
        text += f", at most {format_bytes(memory.cgroup_limit_bytes)} by the cgroup"
    if memory.available_bytes is None or memory.available_bytes >= SMALLEST_AVAILABLE_BYTES:
        yield Finding(level="ok", subject="memory", text=text)
        return
    remedy = "close other programs (ps aux --sort=-rss | head), or give the container more (docker: --memory)"
    yield Finding(level="problem", subject="memory", text=text, remedy=remedy)


def _swap(facts: DoctorFacts) -> Iterator[Finding]:
    size, free = facts.memory.swap_bytes, facts.memory.swap_free_bytes
    if size is None or free is None:
        return
    if size - free < MUCH_SWAPPED_BYTES:
        text = f"{format_bytes(size - free)} used of {format_bytes(size)}" if size else "none"
        yield Finding(level="ok", subject="swap", text=text)
        return
    yield Finding(
        level="note",
        subject="swap",
        text=f"{format_bytes(size - free)} are swapped out: timings suffer when they come back",
        remedy="free memory, then bring it back: sudo swapoff -a && sudo swapon -a",
    )


def _shared_memory(facts: DoctorFacts) -> Iterator[Finding]:
    size, free = facts.memory.shared_bytes, facts.memory.shared_free_bytes
    if size is None:
        text = "/dev/shm cannot be read: loader workers may fail"
        yield Finding(level="note", subject="shared memory", text=text, remedy="mount -t tmpfs tmpfs /dev/shm")
    elif size < SMALLEST_SHARED_BYTES:
        yield Finding(
            level="problem",
            subject="shared memory",
            text=f"/dev/shm has only {format_bytes(size)}: loader workers hand over batches there",
            remedy="docker run --shm-size 8g … (elsewhere: sudo mount -o remount,size=8G /dev/shm)",
        )
    elif free is not None and free < SMALLEST_SHARED_BYTES:
        yield Finding(
            level="problem",
            subject="shared memory",
            text=f"/dev/shm is nearly full: {format_bytes(free)} free of {format_bytes(size)}",
            remedy="remove what dead programs left there: ls -l /dev/shm",
        )
    else:
        text = f"{format_bytes(free)} free of {format_bytes(size)} in /dev/shm"
        yield Finding(level="ok", subject="shared memory", text=text)


def _open_files(facts: DoctorFacts) -> Iterator[Finding]:
    soft, hard = facts.open_files_soft, facts.open_files_hard
    if soft is None:
        return
    if soft >= FEWEST_OPEN_FILES:
        text = "unlimited" if soft >= UNLIMITED_OPEN_FILES else f"up to {soft}"
        yield Finding(level="ok", subject="open files", text=text)
        return
    wanted = WANTED_OPEN_FILES if hard is None else min(hard, WANTED_OPEN_FILES)
    if wanted >= FEWEST_OPEN_FILES:
        remedy = f"ulimit -n {wanted}"
    else:
        remedy = f"raise the hard limit of {hard}: docker run --ulimit nofile=65536:65536 … (or limits.conf)"
    text = f"only {soft} may be open at once: many loader workers need more"
    yield Finding(level="problem", subject="open files", text=text, remedy=remedy)


def _disks(facts: DoctorFacts) -> Iterator[Finding]:
    for disk in facts.disks:
        yield _disk(disk)


_DISK_REMEDIES = {
    "store": "free some space, or keep the store elsewhere: --store sqlite:////path/with/room/traindyno.db",
    "temporary": "free some space, or put temporary files elsewhere: export TMPDIR=/path/with/room",
    "working": "free some space, or work in another folder: cd /path/with/room",
}


def _disk(disk: DiskSpace) -> Finding:
    subject, remedy = f"{disk.purpose} folder", _DISK_REMEDIES[disk.purpose]
    if disk.writable is False:
        return Finding(level="problem", subject=subject, text=f"{disk.path} is not writable", remedy=remedy)
    text = f"{format_bytes(disk.free_bytes)} free in {disk.path}"
    if disk.free_bytes is None or disk.free_bytes >= SMALLEST_DISK_BYTES:
        return Finding(level="ok", subject=subject, text=text)
    return Finding(level="problem", subject=subject, text=f"only {text}", remedy=remedy)
