"""How long the host takes to queue one step on a device that has nothing to do."""

import time
import warnings
from collections.abc import Callable

import torch

from traindyno.analysis.intervals import median
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step

REPEATS, LEAST_REPEATS = 10, 3
ENOUGH_SECONDS = 1.0
"""Of a step that takes long, as many as fit into this time: each must be waited for before the next is queued."""
# A compiled step compiles in the first, warms up its CUDA graphs in the second and records them in the third.
STEPS_BEFORE = 3


def queue_seconds(step: Step, device: Device, alive: Callable[[], None]) -> float | None:
    """Until the call returns, the device not waited for; null where the step itself waits for it.

    It is at most this: the driver holds about a thousand entries, and the host waits in a step that has more for the
    device to get through the first of them.
    """
    for _ in range(STEPS_BEFORE):
        step()
        alive()
    if _waits_for_device(step):
        return None
    readings: list[float] = []
    device.synchronize()
    began = time.perf_counter()
    while len(readings) < REPEATS:
        device.synchronize()
        alive()
        start = time.perf_counter()
        if len(readings) >= LEAST_REPEATS and start - began > ENOUGH_SECONDS:
            break
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
