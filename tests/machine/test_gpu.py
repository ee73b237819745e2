import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traindyno.machine.facts import resolve_device
from traindyno.machine.gpu import GpuReader, NullReader, cuda_index, open_reader
from traindyno.machine.nvml import NvmlReader
from traindyno.machine.replay import ReplayReader


def test_the_null_reader_knows_nothing_but_why() -> None:
    reader = NullReader("no driver")
    assert reader.gpus() == ()
    assert reader.sample(0) is None
    assert reader.foreign_processes(0, ()) is None
    assert reader.driver().unavailable_because == "no driver"
    assert reader.driver().cuda is None


def test_a_named_recording_is_replayed(recording: Path) -> None:
    assert isinstance(open_reader(recording), ReplayReader)


def test_nvml_is_read_where_it_starts(
    monkeypatch: pytest.MonkeyPatch, fake_nvml: Any, card: Callable[..., dict[str, Any]]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(card(), card("GPU-bbbb")))
    reader = open_reader(environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert isinstance(reader, NvmlReader)
    assert [gpu.uuid for gpu in reader.gpus()] == ["GPU-bbbb"]


def test_a_driver_that_does_not_start_is_stood_in_for(monkeypatch: pytest.MonkeyPatch, fake_nvml: Any) -> None:
    nvml = fake_nvml()
    nvml.refuses_to_start = "Driver Not Loaded"
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert open_reader().driver().unavailable_because == "Driver Not Loaded"


def test_missing_bindings_are_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "nvidia-ml-py" in (open_reader().driver().unavailable_because or "")


@pytest.mark.parametrize(("device", "index"), [("cuda:0", 0), ("cuda:12", 12), ("cpu", None), ("cuda", None)])
def test_a_cuda_device_has_an_index(device: str, index: int | None) -> None:
    assert cuda_index(device) == index


@pytest.mark.gpu
def test_a_real_gpu_tells_its_facts(real_gpus: GpuReader) -> None:
    gpu = real_gpus.gpus()[0]
    assert gpu.index == 0
    assert gpu.uuid.startswith(("GPU-", "MIG-"))
    assert real_gpus.driver().version == gpu.driver
    assert real_gpus.driver().cuda is not None


@pytest.mark.gpu
def test_a_real_gpu_can_be_sampled(real_gpus: GpuReader) -> None:
    sample = real_gpus.sample(0)
    assert sample is not None
    assert sample.clock_reasons is not None
    assert (sample.sm_clock_mhz or 0) > 0
    assert (sample.temperature_celsius or 0) > 0


@pytest.mark.gpu
def test_a_real_gpu_is_chosen_by_itself(real_gpus: GpuReader) -> None:
    assert resolve_device(None, real_gpus, lambda: "13.0") == "cuda:0"
