"""What torch's profiler sees of a few steps: how long the device was busy, and a trace to look at."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from torch.profiler import ProfilerActivity, profile, record_function

from traindyno.core.anatomy import PhaseName
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step

BUSY_STEPS = 5
TRACED_STEPS = 3
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class NamedSpans:
    """Gives the phases of a step their names in a trace."""

    def __init__(self) -> None:
        self._open: record_function | None = None

    def mark(self, phase: PhaseName) -> None:
        self.close()
        self._open = record_function(phase)
        self._open.__enter__()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self._open is not None:
            self._open.__exit__(None, None, None)
        self._open = None


def busy_seconds(step: Step, device: Device) -> float | None:
    """How long per step kernels and copies ran on the device, overlaps once; null where the profiler sees none.

    It needs CUPTI and, on some systems, the administrator's leave.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "busy.json"
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            for _ in range(BUSY_STEPS):
                step()
            device.synchronize()
        profiled.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in events if event.get("cat") in ON_DEVICE]
    return union_length(spans) / 1e6 / BUSY_STEPS if spans else None


def write_trace(step: Step, spans: NamedSpans, path: str, device: Device) -> None:
    """A Chrome trace of a few steps, packed where the path ends with .gz. `spans` are the marks of the step."""
    activities = [ProfilerActivity.CPU]
    if device.torch_device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiled:
        for _ in range(TRACED_STEPS):
            step()
        spans.close()
        device.synchronize()
    profiled.export_chrome_trace(path)


def union_length(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of them lasted."""
    length, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        length += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return length
