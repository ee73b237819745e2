"""How long the host takes to queue one step on a device that has nothing to do."""

import time
import warnings

import torch

from traindyno.analysis.intervals import median
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step

REPEATS = 10


def queue_seconds(step: Step, device: Device) -> float | None:
    """Until the call returns, the device not waited for; null on a CPU, and of a step that itself waits for it."""
    if device.torch_device.type != "cuda" or _waits_for_device(step):
        return None
    readings = []
    for _ in range(REPEATS):
        device.synchronize()
        start = time.perf_counter()
        step()
        readings.append(time.perf_counter() - start)
    device.synchronize()
    return median(readings)


def _waits_for_device(step: Step) -> bool:
    """torch warns of each call that waits, where asked to: reading a loss, or checking the loss scale in fp16."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return any("synchronizing CUDA operation" in str(warning.message) for warning in caught)
