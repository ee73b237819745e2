"""Endings that only a real GPU can produce."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

pytestmark = pytest.mark.gpu
JOBS = Path(__file__).with_name("gpu_jobs.py")


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(WORKER_ENTRY, Deadlines(first_step=60, step=60))
    yield runner
    runner.close()


def run(runner: LocalRunner, job: str, margin: float = 0.0) -> TrialRecord:
    spec = TrialSpec(
        kind="fit",
        workload=WorkloadSpec(model=f"{JOBS}:{job}"),
        settings=Settings(batch_size=4, device="cuda:0"),
        margin=margin,
    )
    return runner.run(spec, Watcher(), None)


def test_a_full_device_is_out_of_device_memory(runner: LocalRunner) -> None:
    record = run(runner, "fills_the_device")
    assert record.outcome is Outcome.OUT_OF_DEVICE_MEMORY
    assert record.failure is not None
    assert int(record.failure.details["device_free_bytes"]) >= 0


def test_a_device_assert_is_a_cuda_fault_and_the_next_trial_is_healthy(runner: LocalRunner) -> None:
    assert run(runner, "trips_a_device_assert").outcome is Outcome.CUDA_FAULT
    assert run(runner, "healthy").outcome is Outcome.OK


def test_the_margin_is_enforced(runner: LocalRunner) -> None:
    assert run(runner, "needs_most_of_the_device").outcome is Outcome.OK
    assert run(runner, "needs_most_of_the_device", margin=0.05).outcome is Outcome.OUT_OF_DEVICE_MEMORY


def test_memory_readings_name_allocator_and_device(runner: LocalRunner) -> None:
    measurement = run(runner, "healthy").measurement
    assert measurement is not None
    memory = measurement.memory
    assert memory.limit_bytes is not None
    assert memory.device_total_bytes is not None
    assert memory.peak_reserved_bytes is not None
    assert 0 < memory.peak_bytes <= memory.peak_reserved_bytes <= memory.limit_bytes <= memory.device_total_bytes
    assert memory.allocator_retries == 0
