"""Fake kernel trees and a fake NVML, so that these tests look the same on every machine."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from traindyno.machine.gpu import GpuReader, open_reader

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files below a fake root, each given by its path from the root."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


UNIFIED = {
    "proc/self/cgroup": "0::/jobs/mine\n",
    "proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
}
VERSION_ONE = {
    "proc/self/cgroup": "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
    "proc/self/mountinfo": (
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    ),
}


@pytest.fixture
def unified() -> dict[str, str]:
    """A machine with cgroups of version 2; this process is in /jobs/mine."""
    return dict(UNIFIED)


@pytest.fixture
def version_one() -> dict[str, str]:
    """A machine with cgroups of version 1 (hybrid); this process is in /docker/abc."""
    return dict(VERSION_ONE)


class FakeNvml:
    """Answers like pynvml. A card maps function names to answers; what is not in it is refused."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_PERF_POLICY_POWER = 0
    NVML_PERF_POLICY_THERMAL = 1
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN = 269
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN = 270
    NVML_TEMPERATURE_GPU = 0
    NVML_VOLATILE_ECC = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1

    class NVMLError(Exception):
        pass

    class NVMLLibraryMismatchError(Exception):
        pass

    def __init__(self, *cards: dict[str, Any], slices: Mapping[str, tuple[Any, Any]] | None = None) -> None:
        self.cards = cards
        self.slices = slices or {}
        self.process_names: dict[int, str] = {}
        self.lacking: set[str] = set()
        self.refuses_to_start: str | None = None
        self.closed = False
        self.functions: dict[str, Callable[..., Any]] = {
            "nvmlInit": self._start,
            "nvmlShutdown": self._close,
            "nvmlSystemGetDriverVersion": lambda: "580.95.05",
            "nvmlSystemGetCudaDriverVersion_v2": lambda: 13020,
            "nvmlSystemGetProcessName": lambda pid: self._find(self.process_names, pid),
            "nvmlDeviceGetCount": lambda: len(self.cards),
            "nvmlDeviceGetHandleByIndex": lambda index: self.cards[index],
            "nvmlDeviceGetHandleByUUID": lambda uuid: self._find(self.slices, uuid)[0],
            "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": self._card_of_slice,
        }

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml") or name in self.lacking:
            raise AttributeError(name)
        return self.functions.get(name, lambda handle, *rest: self._answer(name, handle))

    def _start(self) -> None:
        if self.refuses_to_start is not None:
            raise self.NVMLError(self.refuses_to_start)

    def _close(self) -> None:
        self.closed = True

    def _card_of_slice(self, handle: Any) -> Any:
        return next(card for part, card in self.slices.values() if part is handle)

    def _find(self, known: Mapping[Any, Any], key: Any) -> Any:
        if key not in known:
            raise self.NVMLError("Not Found")
        return known[key]

    def _answer(self, name: str, handle: Mapping[str, Any]) -> Any:
        if name not in handle:
            raise self.NVMLError("Not Supported")
        answer = handle[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_card(uuid: str = "GPU-aaaa", **changes: Any) -> dict[str, Any]:
    """A healthy, busy card; keyword arguments replace answers by NVML function name."""
    return {
        "nvmlDeviceGetUUID": uuid,
        "nvmlDeviceGetName": "NVIDIA Test",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=1000, free=900, used=100),
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetTotalEccErrors": 0,
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetClockInfo": 1980,
        "nvmlDeviceGetTemperatureV": 55,
        "nvmlDeviceGetPowerUsage": 612_500,
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
        "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
        "nvmlDeviceGetComputeRunningProcesses_v3": [],
        **changes,
    }


@pytest.fixture
def card() -> Callable[..., dict[str, Any]]:
    return make_card


@pytest.fixture
def fake_nvml() -> type[FakeNvml]:
    return FakeNvml


@pytest.fixture
def recording() -> Path:
    """A made-up recording of one GPU: it rests, works, meets its power cap, grows hot, rests again."""
    return Path(__file__).parent / "fixtures" / "one_gpu_synthetic.jsonl"


@pytest.fixture
def h200() -> Path:
    """An H200 read once a second: twelve seconds of rest, then ResNet-50 in bf16 (benchmarks/results, soak)."""
    return Path(__file__).parent / "fixtures" / "one_h200.jsonl"


@pytest.fixture
def real_gpus() -> Iterator[GpuReader]:
    """The GPUs of this machine through NVML; without one the test is skipped."""
    reader = open_reader()
    if not reader.gpus():
        pytest.skip(f"no GPU: {reader.driver().unavailable_because or 'none is visible'}")
    yield reader
    reader.close()
