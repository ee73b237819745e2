"""The most that this device was seen to do: a large matrix product, and a large copy within the device."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from traindyno.analysis.intervals import median
from traindyno.core.records import Settings
from traindyno.machine.memory import host_memory
from traindyno.worker.devices import Device, process_status_bytes

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SIZES = {"cuda": (4096, 8192, 16384), "cpu": (512, 1024, 2048)}
COPY_BYTES = {"cuda": 1 << 30, "cpu": 1 << 28}
LEAST_COPY_BYTES = 1 << 26
REPEATS = 5
LONGEST_SECONDS = 0.1
# A machine whose memory is nearly full has more to lose than a ceiling is worth.
SHARE_OF_FREE = 0.5


def flops_per_second_ceiling(settings: Settings, device: Device) -> float | None:
    """The fastest of a few square matrix products in the step's precision; null where there is no room for one.

    In fp32 it is the product of TF32 unless that is ruled out altogether: convolutions may use it where products do
    not, and a ceiling must not lie below what the step is allowed to do.
    """
    dtype = DTYPES[settings.precision]
    best = None
    with _tf32(allowed=settings.tf32 != "none"):
        for size in SIZES[device.torch_device.type]:
            if 3 * size**2 * dtype.itemsize > _room(device):
                break
            seconds = _product_seconds(size, dtype, device)
            best = max(best or 0.0, 2 * size**3 / seconds)
            if 8 * seconds > LONGEST_SECONDS:
                break
    return best


def bytes_per_second_ceiling(device: Device) -> float | None:
    """A copy reads and writes every byte; null where there is no room for one that no cache could hold."""
    size = int(min(COPY_BYTES[device.torch_device.type], _room(device) / 2))
    if size < LEAST_COPY_BYTES:
        return None
    source = torch.ones(size, dtype=torch.uint8, device=device.torch_device)
    target = torch.empty_like(source)
    return 2 * size / _usual_seconds(lambda: target.copy_(source), device)


def _product_seconds(size: int, dtype: torch.dtype, device: Device) -> float:
    left, right = (torch.randn(size, size, dtype=dtype, device=device.torch_device) for _ in range(2))
    product = torch.empty_like(left)
    return _usual_seconds(lambda: torch.mm(left, right, out=product), device)


def _usual_seconds(work: Callable[[], object], device: Device) -> float:
    """The median of a few, after one that warms up."""
    work()
    readings = []
    for _ in range(REPEATS):
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        readings.append(time.perf_counter() - start)
    return median(readings)


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    """By the older name of the flag, which torch refuses to read once the user's code has used the newer one."""
    flags = torch.backends.cuda.matmul
    wanted: bool | str = allowed
    try:
        name, before = "allow_tf32", flags.allow_tf32
    except RuntimeError:
        name, before, wanted = "fp32_precision", flags.fp32_precision, "tf32" if allowed else "ieee"
    setattr(flags, name, wanted)
    try:
        yield
    finally:
        setattr(flags, name, before)


def _room(device: Device) -> float:
    if device.torch_device.type == "cuda":
        torch.cuda.empty_cache()
        free = device.free_bytes()
    else:
        free = _host_room()
    return SHARE_OF_FREE * (free or 0)


def _host_room() -> int | None:
    """What is available, within the trial's own limit."""
    available = host_memory().available_bytes
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if available is None or limit == resource.RLIM_INFINITY:
        return available
    return max(0, min(available, limit - process_status_bytes("VmData")))
