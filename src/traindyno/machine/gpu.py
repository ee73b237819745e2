"""GPUs behind a small interface: through NVML, from a recording, or none. CUDA is never touched."""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from traindyno.core.machine import DriverFacts, GpuFacts, GpuSample


class GpuReader(Protocol):
    """What can be asked about GPUs. Indices are those of torch's `cuda:N`, CUDA_VISIBLE_DEVICES respected."""

    def driver(self) -> DriverFacts:
        """Driver and its CUDA version, or why nothing can be read."""
        ...

    def gpus(self) -> tuple[GpuFacts, ...]:
        """The visible GPUs, `cuda:0` first."""
        ...

    def sample(self, index: int, counters: bool = False) -> GpuSample | None:
        """The state of a GPU now; null when there is no such GPU or it does not answer.

        With `counters` also what takes longer to ask: energy, time by throttle reason, and the memory's clock.
        """
        ...

    def foreign_processes(self, index: int, own_pids: Collection[int]) -> tuple[str, ...] | None:
        """Others on the GPU, as text with pid, name and memory; null when ours cannot be told apart."""
        ...

    def close(self) -> None:
        """Let go of the driver."""
        ...


class NullReader:
    """Stands in where there is no NVIDIA driver, and knows why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def driver(self) -> DriverFacts:
        return DriverFacts(unavailable_because=self._reason)

    def gpus(self) -> tuple[GpuFacts, ...]:
        return ()

    def sample(self, index: int, counters: bool = False) -> GpuSample | None:
        return None

    def foreign_processes(self, index: int, own_pids: Collection[int]) -> tuple[str, ...] | None:
        return None

    def close(self) -> None:
        return None


def open_reader(recording: Path | None = None, environment: Mapping[str, str] | None = None) -> GpuReader:
    """A recording's reader if one is named, else NVML's, else the null reader with the reason."""
    if recording is not None:
        from traindyno.machine.replay import ReplayReader

        return ReplayReader.from_file(recording)
    try:
        import pynvml
    except ImportError:
        return NullReader("the Python package nvidia-ml-py is not installed")
    return _open_nvml(pynvml, os.environ if environment is None else environment)


def _open_nvml(nvml: Any, environment: Mapping[str, str]) -> GpuReader:
    from traindyno.machine.nvml import NvmlReader, start

    reason = start(nvml)
    return NvmlReader(nvml, environment) if reason is None else NullReader(reason)


def cuda_index(device: str) -> int | None:
    """The N of `cuda:N`; null for `cpu`."""
    match = re.fullmatch(r"cuda:(\d+)", device)
    return None if match is None else int(match[1])
