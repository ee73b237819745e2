from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from traindyno.machine.nvml import NvmlReader, start

Card = Callable[..., dict[str, Any]]


def test_the_driver_is_told_with_its_newest_cuda(fake_nvml: Any, card: Card) -> None:
    driver = NvmlReader(fake_nvml(card()), {}).driver()
    assert (driver.version, driver.cuda, driver.gpus_installed) == ("580.95.05", "13.2", 1)
    assert driver.unavailable_because is None


def test_a_gpu_is_described(fake_nvml: Any, card: Card) -> None:
    (gpu,) = NvmlReader(fake_nvml(card()), {}).gpus()
    assert (gpu.index, gpu.name, gpu.uuid) == (0, "NVIDIA Test", "GPU-aaaa")
    assert (gpu.memory_bytes, gpu.free_memory_bytes) == (1000, 900)
    assert (gpu.mig, gpu.persistence, gpu.ecc_uncorrected_errors) == (False, True, 0)
    assert gpu.power_limit_watts == 700.0


def test_what_the_driver_does_not_tell_is_unknown_and_not_zero(fake_nvml: Any) -> None:
    silent = {"nvmlDeviceGetUUID": "GPU-aaaa", "nvmlDeviceGetName": "NVIDIA Silent"}
    reader = NvmlReader(fake_nvml(silent), {})
    (gpu,) = reader.gpus()
    assert (gpu.memory_bytes, gpu.mig, gpu.power_limit_watts) == (None, None, None)
    assert (gpu.ecc_uncorrected_errors, gpu.persistence) == (None, None)
    sample = reader.sample(0)
    assert sample is not None
    assert (sample.sm_clock_mhz, sample.power_watts, sample.clock_reasons) == (None, None, None)
    assert reader.foreign_processes(0, ()) is None


def test_a_sample_has_the_state_of_the_gpu(fake_nvml: Any, card: Card) -> None:
    sample = NvmlReader(fake_nvml(card()), {}).sample(0)
    assert sample is not None
    assert (sample.sm_clock_mhz, sample.temperature_celsius, sample.power_watts) == (1980, 55, 612.5)
    assert (sample.utilization_percent, sample.memory_used_bytes) == (97, 100)
    assert sample.clock_reasons == ("power cap",)


def test_older_drivers_know_reasons_and_temperature_by_other_names(fake_nvml: Any, card: Card) -> None:
    nvml = fake_nvml(
        card(nvmlDeviceGetCurrentClocksThrottleReasons=0x40, nvmlDeviceGetTemperature=71),
    )
    nvml.lacking = {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetTemperatureV"}
    sample = NvmlReader(nvml, {}).sample(0)
    assert sample is not None
    assert sample.clock_reasons == ("thermal hardware slowdown",)
    assert sample.temperature_celsius == 71


def test_a_gpu_without_any_reason_says_so_and_not_unknown(fake_nvml: Any, card: Card) -> None:
    sample = NvmlReader(fake_nvml(card(nvmlDeviceGetCurrentClocksEventReasons=0)), {}).sample(0)
    assert sample is not None
    assert sample.clock_reasons == ()


def test_a_lost_gpu_gives_no_sample(fake_nvml: Any, card: Card) -> None:
    lost = card()
    reader = NvmlReader(fake_nvml(lost), {})
    lost.clear()
    assert reader.sample(0) is None


@pytest.mark.parametrize("index", [-1, 1, 99])
def test_a_gpu_that_is_not_there_gives_no_sample(fake_nvml: Any, card: Card, index: int) -> None:
    reader = NvmlReader(fake_nvml(card()), {})
    assert reader.sample(index) is None
    assert reader.foreign_processes(index, ()) is None


def test_indices_are_those_of_torch(fake_nvml: Any, card: Card) -> None:
    nvml = fake_nvml(card("GPU-aaaa"), card("GPU-bbbb", nvmlDeviceGetClockInfo=1111), card("GPU-cccc"))
    reader = NvmlReader(nvml, {"CUDA_VISIBLE_DEVICES": "1,GPU-aaaa"})
    assert [(gpu.index, gpu.uuid) for gpu in reader.gpus()] == [(0, "GPU-bbbb"), (1, "GPU-aaaa")]
    sample = reader.sample(0)
    assert sample is not None
    assert (sample.index, sample.sm_clock_mhz) == (0, 1111)
    assert reader.driver().gpus_installed == 3


def test_a_mig_slice_has_its_own_memory_and_its_cards_clock(fake_nvml: Any, card: Card) -> None:
    whole = card(nvmlDeviceGetMigMode=[1, 1])
    part = {
        "nvmlDeviceGetUUID": "MIG-1234",
        "nvmlDeviceGetName": "NVIDIA Test MIG 1g.10gb",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=100, free=90, used=10),
    }
    nvml = fake_nvml(whole, slices={"MIG-1234": (part, whole)})
    reader = NvmlReader(nvml, {"CUDA_VISIBLE_DEVICES": "MIG-1234"})
    (gpu,) = reader.gpus()
    assert (gpu.uuid, gpu.memory_bytes, gpu.mig) == ("MIG-1234", 100, True)
    sample = reader.sample(0)
    assert sample is not None
    assert (sample.sm_clock_mhz, sample.memory_used_bytes) == (1980, 10)


def test_a_card_cut_by_mig_is_seen_as_its_first_slice(fake_nvml: Any, card: Card) -> None:
    part = {"nvmlDeviceGetUUID": "MIG-1234", "nvmlDeviceGetName": "slice"}
    whole = card(nvmlDeviceGetMigMode=[1, 1], nvmlDeviceGetMigDeviceHandleByIndex=part)
    (gpu,) = NvmlReader(fake_nvml(whole), {}).gpus()
    assert (gpu.name, gpu.mig) == ("slice", True)


def test_an_unknown_mig_slice_shows_nothing(fake_nvml: Any, card: Card) -> None:
    assert NvmlReader(fake_nvml(card()), {"CUDA_VISIBLE_DEVICES": "MIG-none"}).gpus() == ()


def test_foreign_processes_are_told_with_name_and_memory(fake_nvml: Any, card: Card) -> None:
    listed = [SimpleNamespace(pid=11, usedGpuMemory=2**30), SimpleNamespace(pid=12, usedGpuMemory=None)]
    nvml = fake_nvml(card(nvmlDeviceGetComputeRunningProcesses_v3=listed))
    nvml.process_names = {11: "/usr/bin/python3.11"}
    reader = NvmlReader(nvml, {})
    assert reader.foreign_processes(0, ()) == ("pid 11 (python3.11, 1.00 GiB)", "pid 12 (name unknown)")
    assert reader.foreign_processes(0, (12,)) == ("pid 11 (python3.11, 1.00 GiB)",)


def test_a_process_name_that_is_no_text_is_unknown(fake_nvml: Any, card: Card) -> None:
    listed = [SimpleNamespace(pid=11, usedGpuMemory=None)]
    nvml = fake_nvml(card(nvmlDeviceGetComputeRunningProcesses_v3=listed))
    nvml.functions["nvmlSystemGetProcessName"] = lambda pid: b"\xff".decode()
    reader = NvmlReader(nvml, {})
    assert reader.foreign_processes(0, ()) == ("pid 11 (name unknown)",)


def test_bindings_newer_than_the_driver_are_borne(fake_nvml: Any, card: Card) -> None:
    refused = fake_nvml.NVMLLibraryMismatchError("use a versioned function")
    nvml = fake_nvml(card(nvmlDeviceGetComputeRunningProcesses=refused))
    nvml.lacking = {f"nvmlDeviceGetComputeRunningProcesses_v{number}" for number in (2, 3)}
    assert NvmlReader(nvml, {}).foreign_processes(0, ()) is None


def test_a_library_that_does_not_start_tells_why(fake_nvml: Any) -> None:
    nvml = fake_nvml()
    assert start(nvml) is None
    nvml.refuses_to_start = "Driver Not Loaded"
    assert start(nvml) == "Driver Not Loaded"


def test_closing_lets_go_of_the_library(fake_nvml: Any, card: Card) -> None:
    nvml = fake_nvml(card())
    reader = NvmlReader(nvml, {})
    reader.close()
    assert nvml.closed
    assert reader.gpus() == ()
