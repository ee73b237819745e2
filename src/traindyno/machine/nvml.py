"""GPUs as NVML tells about them. A question that the driver cannot answer is answered with null."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from traindyno.core.machine import DriverFacts, GpuFacts, GpuSample
from traindyno.machine.counters import read_counters
from traindyno.machine.pids import Processes, foreign
from traindyno.machine.throttling import clock_reasons
from traindyno.machine.visible import visible_devices


def start(nvml: Any) -> str | None:
    """Open the library; the reason in words when it cannot be."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return str(error)
    return None


class Device(NamedTuple):
    """A visible GPU: the handle CUDA computes on (maybe a MIG slice) and the whole card's."""

    handle: Any
    card: Any


class NvmlReader:
    """Reads the visible GPUs through an initialised NVML."""

    def __init__(self, nvml: Any, environment: Mapping[str, str]) -> None:
        self._nvml = nvml
        self._devices = self._visible(environment.get("CUDA_VISIBLE_DEVICES"))

    def driver(self) -> DriverFacts:
        number = self._ask("nvmlSystemGetCudaDriverVersion_v2")
        return DriverFacts(
            version=self._ask("nvmlSystemGetDriverVersion"),
            cuda=None if number is None else f"{number // 1000}.{number % 1000 // 10}",
            gpus_installed=self._ask("nvmlDeviceGetCount"),
        )

    def gpus(self) -> tuple[GpuFacts, ...]:
        driver = self._ask("nvmlSystemGetDriverVersion")
        return tuple(self._facts(index, device, driver) for index, device in enumerate(self._devices))

    def sample(self, index: int, counters: bool = False) -> GpuSample | None:
        if not 0 <= index < len(self._devices):
            return None
        device = self._devices[index]
        clock = self._ask("nvmlDeviceGetClockInfo", device.card, self._nvml.NVML_CLOCK_SM)
        if clock is None and self._ask("nvmlDeviceGetUUID", device.card) is None:
            return None
        sample = GpuSample(
            index=index,
            sm_clock_mhz=clock,
            temperature_celsius=self._temperature(device.card),
            power_watts=_thousandths(self._ask("nvmlDeviceGetPowerUsage", device.card)),
            utilization_percent=_field(self._ask("nvmlDeviceGetUtilizationRates", device.card), "gpu"),
            memory_used_bytes=_field(self._ask("nvmlDeviceGetMemoryInfo", device.handle), "used"),
            clock_reasons=self._reasons(device.card),
        )
        return self._with_counters(sample, device.card) if counters else sample

    def _with_counters(self, sample: GpuSample, card: Any) -> GpuSample:
        return msgspec.structs.replace(
            sample,
            memory_clock_mhz=self._ask("nvmlDeviceGetClockInfo", card, self._nvml.NVML_CLOCK_MEM),
            energy_joules=_thousandths(self._ask("nvmlDeviceGetTotalEnergyConsumption", card)),
            throttle_counters=read_counters(self._nvml, self._ask, card),
        )

    def foreign_processes(self, index: int, own_pids: Collection[int]) -> tuple[str, ...] | None:
        if not 0 <= index < len(self._devices):
            return None
        processes = self._processes(self._devices[index].handle)
        return None if processes is None else foreign(processes, own_pids)

    def close(self) -> None:
        self._devices = []
        self._ask("nvmlShutdown")

    def _visible(self, value: str | None) -> list[Device]:
        count = self._ask("nvmlDeviceGetCount") or 0
        cards = [self._ask("nvmlDeviceGetHandleByIndex", index) for index in range(count)]
        uuids = ["" if card is None else self._ask("nvmlDeviceGetUUID", card) or "" for card in cards]
        chosen = visible_devices(value, uuids)
        found = [self._slice(name) if isinstance(name, str) else self._whole(cards[name]) for name in chosen]
        return [device for device in found if device is not None]

    def _slice(self, uuid: str) -> Device | None:
        handle = self._ask("nvmlDeviceGetHandleByUUID", uuid)
        card = None if handle is None else self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle)
        return None if card is None else Device(handle, card)

    def _whole(self, card: Any) -> Device | None:
        """CUDA shows a card that is cut by MIG as the first of its slices."""
        if card is None:
            return None
        first = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", card, 0) if self._mig(card) else None
        return Device(first or card, card)

    def _facts(self, index: int, device: Device, driver: str | None) -> GpuFacts:
        memory = self._ask("nvmlDeviceGetMemoryInfo", device.handle)
        persistence = self._ask("nvmlDeviceGetPersistenceMode", device.card)
        return GpuFacts(
            index=index,
            name=self._ask("nvmlDeviceGetName", device.handle) or "unknown GPU",
            uuid=self._ask("nvmlDeviceGetUUID", device.handle) or "unknown",
            memory_bytes=_field(memory, "total"),
            free_memory_bytes=_field(memory, "free"),
            driver=driver,
            mig=self._mig(device.card),
            power_limit_watts=_thousandths(self._ask("nvmlDeviceGetEnforcedPowerLimit", device.card)),
            ecc_uncorrected_errors=self._uncorrected_errors(device.card),
            persistence=None if persistence is None else bool(persistence),
        )

    def _mig(self, card: Any) -> bool | None:
        modes = self._ask("nvmlDeviceGetMigMode", card)
        return None if modes is None else bool(modes[0])

    def _uncorrected_errors(self, card: Any) -> int | None:
        """Since the driver was loaded."""
        kind, counter = self._nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, self._nvml.NVML_VOLATILE_ECC
        count: int | None = self._ask("nvmlDeviceGetTotalEccErrors", card, kind, counter)
        return count

    def _temperature(self, card: Any) -> int | None:
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        names = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
        celsius: int | None = self._first(names, card, sensor)
        return celsius

    def _reasons(self, card: Any) -> tuple[str, ...] | None:
        """Drivers before 535 know clock-event reasons by their old name."""
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        bits = self._first(names, card)
        return None if bits is None else clock_reasons(bits)

    def _processes(self, handle: Any) -> Processes | None:
        versions = ("_v3", "_v2", "")
        listed = self._first([f"nvmlDeviceGetComputeRunningProcesses{version}" for version in versions], handle)
        if listed is None:
            return None
        return {process.pid: (self._process_name(process.pid), process.usedGpuMemory) for process in listed}

    def _process_name(self, pid: int) -> str | None:
        path = self._ask("nvmlSystemGetProcessName", pid)
        return None if path is None else path.rpartition("/")[2] or None

    def _first(self, names: Collection[str], *arguments: Any) -> Any:
        answers = (self._ask(name, *arguments) for name in names)
        return next((answer for answer in answers if answer is not None), None)

    def _ask(self, name: str, *arguments: Any) -> Any:
        """One NVML call. Old drivers and bindings lack some; sandboxes answer process names with noise."""
        function = getattr(self._nvml, name, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except (self._nvml.NVMLError, self._nvml.NVMLLibraryMismatchError, UnicodeDecodeError):
            return None


def _field(answer: Any, name: str) -> int | None:
    return None if answer is None else int(getattr(answer, name))


def _thousandths(amount: int | None) -> float | None:
    return None if amount is None else amount / 1000
