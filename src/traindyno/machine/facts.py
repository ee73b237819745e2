"""The machine's facts as they are recorded with a study, and the device that a user's words mean on it."""

import platform
import re
import socket
from collections.abc import Callable, Collection
from pathlib import Path

from traindyno.core.errors import UsageError
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.machine.cgroups import SYSTEM_ROOT
from traindyno.machine.cpus import cpu_model, usable_cpus
from traindyno.machine.gpu import GpuReader, open_reader
from traindyno.machine.memory import host_memory
from traindyno.machine.versions import installed_version, own_version, torch_cuda_build


def collect(reader: GpuReader | None = None, root: Path = SYSTEM_ROOT) -> MachineFacts:
    """Everything about this machine that a measurement depends on, without waking the GPU."""
    if reader is None:
        opened = open_reader()
        try:
            return collect(opened, root)
        finally:
            opened.close()
    cpus, memory = usable_cpus(root=root), host_memory(root)
    sizes = [size for size in (memory.total_bytes, memory.cgroup_limit_bytes) if size is not None]
    return MachineFacts(
        hostname=socket.gethostname(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        traindyno=own_version(),
        torch=installed_version("torch"),
        torchvision=installed_version("torchvision"),
        cuda=torch_cuda_build(),
        cpu_model=cpu_model(root),
        cpus_online=cpus.online,
        cpus_usable=cpus.value,
        memory_bytes=min(sizes, default=None),
        memory_available_bytes=memory.available_bytes,
        shared_memory_bytes=memory.shared_bytes,
        shared_memory_free_bytes=memory.shared_free_bytes,
        gpus=reader.gpus(),
    )


def resolve_device(text: str | None, reader: GpuReader, cuda_build: Callable[[], str | None] = torch_cuda_build) -> str:
    """`cuda:N` or `cpu` for what the user wrote; nothing or `auto` means the first GPU that torch can use."""
    words = "auto" if text is None else text.strip().lower()
    if words == "cpu":
        return "cpu"
    if words == "auto":
        return "cuda:0" if reader.gpus() and cuda_build() is not None else "cpu"
    match = re.fullmatch(r"cuda(?::(\d+))?", words)
    if match is None:
        raise UsageError(f"{text!r} is not a device", "write cuda, cuda:1, cpu or auto")
    _check_visible(int(match[1] or 0), reader)
    if cuda_build() is None:
        raise UsageError("the installed torch cannot use a GPU", "`traindyno doctor` says what to install")
    return f"cuda:{int(match[1] or 0)}"


def _check_visible(index: int, reader: GpuReader) -> None:
    gpus = reader.gpus()
    if any(gpu.index == index for gpu in gpus):
        return
    raise UsageError(f"there is no device cuda:{index} here", f"choose from {describe_devices(gpus)}")


def describe_devices(gpus: Collection[GpuFacts]) -> str:
    """`cuda:0 (NVIDIA H200), cpu`."""
    return ", ".join([*(f"cuda:{gpu.index} ({gpu.name})" for gpu in gpus), "cpu"])
