"""How long one batch takes from host memory to the device: from pageable memory and from pinned."""

from collections.abc import Callable
from typing import Any

import torch

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.anatomy import Transfer
from traindyno.core.records import Settings
from traindyno.worker.batches import host_bytes, own_copy, to_device
from traindyno.worker.devices import Device

REPEATS = 10


def time_transfers(take: Callable[[], Any], settings: Settings, device: Device) -> tuple[Transfer, ...]:
    """Both ways, with a batch as the loader gives it; none on a CPU, nor where images are decoded on the GPU."""
    if device.torch_device.type != "cuda" or settings.decoder == "nvjpeg":
        return ()
    batch = take()
    return tuple(_timed(own_copy(batch, pinned), pinned, device) for pinned in (False, True))


def _timed(batch: Any, pinned: bool, device: Device) -> Transfer:
    _copy_seconds(batch, pinned, device)
    readings = [_copy_seconds(batch, pinned, device) for _ in range(REPEATS)]
    return Transfer(pinned=pinned, seconds=median(readings), ci95=median_interval(readings), bytes=host_bytes(batch))


def _copy_seconds(batch: Any, pinned: bool, device: Device) -> float:
    """Between two events on an otherwise idle device."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    device.synchronize()
    start.record()
    to_device(batch, device.torch_device, non_blocking=pinned)
    end.record()
    device.synchronize()
    return float(start.elapsed_time(end)) / 1000
