"""Where the steps run: how to wait for a device, how to read and limit its memory."""

import contextlib
import resource
from collections.abc import Callable
from typing import Any, Protocol

import torch

from traindyno.core.records import Memory, TrialSpec


class HostMemoryExceededError(Exception):
    """The process grew beyond its memory limit, although every allocation succeeded."""


class Device(Protocol):
    """The seam between the measuring code and the hardware."""

    torch_device: torch.device

    def prepare(self, spec: TrialSpec) -> None:
        """Enforce the trial's memory limit and margin before anything is built."""

    def synchronize(self) -> None: ...

    def check_memory(self) -> None:
        """Raise if the limit was passed in a way that no allocation noticed."""

    def memory(self) -> Memory: ...

    def free_bytes(self) -> int | None: ...


class CudaDevice:
    """One GPU, seen through torch's caching allocator."""

    def __init__(self, name: str) -> None:
        self.torch_device = torch.device(name)
        self._limit_bytes = 0
        self._allowed_bytes = 0.0
        self._total_bytes = 0

    def prepare(self, spec: TrialSpec) -> None:
        torch.cuda.set_device(self.torch_device)
        torch.cuda.init()  # type: ignore[no-untyped-call]
        free, self._total_bytes = torch.cuda.mem_get_info(self.torch_device)
        limit = free if spec.memory_limit_bytes is None else min(free, spec.memory_limit_bytes)
        self._limit_bytes = limit
        self._allowed_bytes = limit * (1 - spec.margin)
        if self._allowed_bytes < free:
            torch.cuda.set_per_process_memory_fraction(self._allowed_bytes / self._total_bytes, self.torch_device)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.torch_device)

    def check_memory(self) -> None:
        """Nothing to do: the allocator raises by itself."""

    def memory(self) -> Memory:
        statistics: dict[str, Any] = torch.cuda.memory_stats(self.torch_device)
        return Memory(
            peak_bytes=torch.cuda.max_memory_allocated(self.torch_device),
            peak_reserved_bytes=torch.cuda.max_memory_reserved(self.torch_device),
            limit_bytes=self._limit_bytes,
            allocator_retries=int(statistics.get("num_alloc_retries", 0)),
            device_total_bytes=self._total_bytes,
        )

    def free_bytes(self) -> int | None:
        """What the driver and the limit still have to give; null when a fault has made the device unusable."""
        with contextlib.suppress(RuntimeError):
            free = torch.cuda.mem_get_info(self.torch_device)[0]
            within_limit = self._allowed_bytes - torch.cuda.memory_reserved(self.torch_device)
            return int(max(0, min(free, within_limit)))
        return None


class CpuDevice:
    """The processor. Memory is the process's own: limited by the kernel, read from the kernel."""

    # Between the limit on resident memory and the one on allocations: stacks and untouched pages count there too.
    ALLOCATION_SLACK = 1 / 16

    def __init__(self, status: Callable[[str], int] | None = None) -> None:
        self.torch_device = torch.device("cpu")
        self._status = status or process_status_bytes
        self._limit_bytes: int | None = None
        self._allowed_bytes: float | None = None

    def prepare(self, spec: TrialSpec) -> None:
        self._limit_bytes = spec.memory_limit_bytes
        if spec.memory_limit_bytes is None:
            return
        self._allowed_bytes = spec.memory_limit_bytes * (1 - spec.margin)
        growth = max(0.0, self._allowed_bytes - self._status("VmRSS"))
        ceiling = self._status("VmData") + int(growth + spec.memory_limit_bytes * self.ALLOCATION_SLACK)
        resource.setrlimit(resource.RLIMIT_DATA, (ceiling, ceiling))

    def synchronize(self) -> None:
        """Work on the processor is done when the call returns."""

    def check_memory(self) -> None:
        if self._allowed_bytes is not None and (peak := self._status("VmHWM")) > self._allowed_bytes:
            raise HostMemoryExceededError(
                f"the process took {peak} bytes of memory; the limit is {int(self._allowed_bytes)} bytes"
            )

    def memory(self) -> Memory:
        return Memory(peak_bytes=self._status("VmHWM"), limit_bytes=self._limit_bytes)

    def free_bytes(self) -> int | None:
        return None


def open_device(name: str) -> Device:
    """The device a trial's settings name."""
    return CpuDevice() if name == "cpu" else CudaDevice(name)


def process_status_bytes(field: str) -> int:
    """One of the kernel's memory readings of this process, such as `VmHWM`, the peak of resident memory."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"the kernel reports no {field}")
