"""Readings beside a long trial: of this very process, of recorded GPUs, and of machines that do not tell."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from traindyno.core.machine import GpuSample
from traindyno.core.soaking import Reading, Series
from traindyno.machine.gpu import GpuReader, NullReader
from traindyno.machine.nvml import NvmlReader
from traindyno.machine.process_tree import ProcessTree
from traindyno.machine.readings import CpuClock, Readings
from traindyno.machine.replay import RecordedLine, ReplayReader

Card = Callable[..., dict[str, Any]]


class KnownClock(CpuClock):
    """Four CPUs of which two were busy in each second, or that do not tell."""

    cpus = 4

    def __init__(self, busy: float | None = 2.0) -> None:
        self._share = busy

    def busy_seconds(self, elapsed: float) -> float | None:
        return None if self._share is None else self._share * elapsed


def taken(readings: Readings, pid: int | None, moments: list[float]) -> Series:
    for now in moments:
        readings.tick(now, pid)
    series = readings.series()
    assert series is not None
    return series


def test_a_reading_is_taken_once_a_second_however_often_it_is_asked() -> None:
    series = taken(Readings(NullReader("none"), None), os.getpid(), [10 + 0.1 * tick for tick in range(35)])
    assert [round(reading.at, 1) for reading in series.readings] == [10.0, 11.0, 12.0, 13.0]
    assert series.cost is not None
    assert 0 <= series.cost < 0.5


def test_a_trial_s_own_memory_and_cpu_time_are_read_of_its_whole_tree() -> None:
    readings = Readings(NullReader("none"), None, cpu_clock=KnownClock)
    readings.tick(0.0, os.getpid())
    sum(number * number for number in range(400_000))
    series = taken(readings, os.getpid(), [1.0])
    first, second = series.readings
    assert (first.own_cpu_share, first.other_cpu_share) == (None, None), "a share needs two readings"
    assert second.own_cpu_share is not None
    assert 0 < second.own_cpu_share <= 1
    assert second.own_memory_bytes is not None
    assert second.own_memory_bytes > 1 << 20


def test_a_machine_that_does_not_count_cpu_time_leaves_the_others_unknown() -> None:
    readings = Readings(NullReader("none"), None, cpu_clock=lambda: KnownClock(None))
    series = taken(readings, os.getpid(), [0.0, 1.0])
    assert series.readings[1].own_cpu_share is not None
    assert series.readings[1].other_cpu_share is None


def test_without_gpu_and_without_process_everything_is_unknown_and_not_zero() -> None:
    series = taken(Readings(NullReader("none"), 0), None, [0.0, 1.0])
    assert series.readings[1] == Reading(at=1.0)


def test_a_process_that_is_gone_is_unknown() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    tree = ProcessTree(ended.pid)
    tree.look()
    assert (tree.cpu_seconds(), tree.memory_bytes(), tree.disk_read_bytes()) == (None, None, None)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("told", [True, False])
def test_children_belong_to_the_tree_until_they_have_ended(
    child: subprocess.Popen[bytes], told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindyno.machine.process_tree.tells_children", lambda pid: told)
    tree = ProcessTree(os.getpid())
    tree.look()
    assert child.pid in tree.pids
    child.kill()
    child.wait()
    tree.look()
    assert child.pid not in tree.pids
    assert os.getpid() in tree.pids


def test_a_recorded_gpu_is_read_with_its_energy_and_counters(recording: Path) -> None:
    series = taken(Readings(ReplayReader.from_file(recording), 0), None, [float(at) for at in range(6)])
    assert [reading.sm_clock_mhz for reading in series.readings] == [345, 1980, 1965, 1830, 1410, 345]
    assert series.readings[4].clock_reasons == ("power cap", "thermal software slowdown")
    sample = GpuSample(index=0, energy_joules=12.5, memory_clock_mhz=2619, throttle_counters={"power cap": 7})
    (reading,) = taken(Readings(ReplayReader([RecordedLine(sample=sample)]), 0), None, [0.0]).readings
    assert (reading.energy_joules, reading.memory_clock_mhz) == (12.5, 2619)
    assert reading.throttle_counters == {"power cap": 7}


def test_what_an_h200_told_is_read_again_with_its_energy_in_step_with_its_power(h200: Path) -> None:
    reader = ReplayReader.from_file(h200)
    assert [gpu.name for gpu in reader.gpus()] == ["NVIDIA H200"]
    readings = taken(Readings(reader, 0), None, [1.06 * at for at in range(181)]).readings
    busy = [each for each in readings if each.clock_reasons == ()]
    assert len(readings) == 181
    assert len(busy) == 169
    assert {each.clock_reasons for each in readings if each not in busy} == {("gpu idle",)}
    assert {each.sm_clock_mhz for each in busy[2:]} == {1980}
    assert max(each.temperature_celsius or 0 for each in readings) == 55
    joules = (busy[-1].energy_joules or 0.0) - (busy[2].energy_joules or 0.0)
    watts = sum(each.power_watts or 0.0 for each in busy[2:]) / len(busy[2:])
    assert joules == pytest.approx(watts * (busy[-1].at - busy[2].at), rel=0.05)
    assert {name for each in readings for name in each.throttle_counters or ()} >= {"power cap", "thermal slowdown"}


def field(number: int, value: int, refused: int = 0) -> SimpleNamespace:
    return SimpleNamespace(fieldId=number, valueType=3, nvmlReturn=refused, value=SimpleNamespace(ullVal=value))


def test_energy_and_counters_are_read_from_the_driver(fake_nvml: Any, card: Card) -> None:
    nvml = fake_nvml(
        card(
            nvmlDeviceGetTotalEnergyConsumption=1_234_500,
            nvmlDeviceGetViolationStatus=SimpleNamespace(referenceTime=1, violationTime=5_000),
            nvmlDeviceGetFieldValues=[field(269, 77), field(270, 0, refused=3)],
        )
    )
    sample = NvmlReader(nvml, {}).sample(0, counters=True)
    assert sample is not None
    assert sample.energy_joules == 1234.5
    assert sample.throttle_counters == {"power cap": 5_000, "thermal slowdown": 5_000, "thermal software slowdown": 77}


def test_counters_are_asked_for_now_and_then_for_they_forget_nothing(fake_nvml: Any, card: Card) -> None:
    reader = NvmlReader(fake_nvml(card(nvmlDeviceGetTotalEnergyConsumption=2_000)), {})
    readings = taken(Readings(reader, 0), None, [float(at) for at in range(11)]).readings
    assert [reading.at for reading in readings if reading.energy_joules is not None] == [0.0, 5.0, 10.0]
    assert all(reading.sm_clock_mhz is not None for reading in readings)


def test_an_old_driver_without_counters_leaves_them_unknown(fake_nvml: Any, card: Card) -> None:
    sample = NvmlReader(fake_nvml(card()), {}).sample(0, counters=True)
    assert sample is not None
    assert (sample.energy_joules, sample.throttle_counters) == (None, None)


@pytest.mark.gpu
def test_a_real_gpu_is_read_at_little_cost(real_gpus: GpuReader) -> None:
    readings = Readings(real_gpus, 0, interval_seconds=0.0)
    series = taken(readings, os.getpid(), [float(at) for at in range(5)])
    last = series.readings[-1]
    assert last.sm_clock_mhz is not None
    assert last.temperature_celsius is not None
    assert last.clock_reasons is not None
    assert series.cost is not None
    assert series.cost < 0.05
