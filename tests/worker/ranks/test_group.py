"""A whole group's trial on two processes: what is read of every rank, and what is called communication."""

from collections.abc import Iterator
from statistics import median

import pytest
from msgspec.structs import replace

from keepers import Keepers
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Settings
from traindyno.core.scaling import Scaling
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from worker.ranks.groups import run_nodes, spec_of

DELAY_SECONDS = 0.08
TOLERANCE = 0.1 * DELAY_SECONDS


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def measured(runner: LocalRunner, *job: str, **more: object) -> tuple[Measurement, Scaling]:
    record = runner.run(spec_of(*job, **more), Watcher(), None)  # type: ignore[arg-type]
    assert record.outcome is Outcome.OK, record.failure
    assert record.measurement is not None
    assert record.measurement.scaling is not None
    return record.measurement, record.measurement.scaling


@pytest.fixture(scope="module")
def slow_rank(runner: LocalRunner) -> tuple[Measurement, Scaling]:
    return measured(runner, "slow_rank", seconds=3.0)


def test_every_rank_is_read_and_so_is_what_is_sent(slow_rank: tuple[Measurement, Scaling]):
    measurement, scaling = slow_rank
    assert (scaling.devices, scaling.nodes, scaling.backend, scaling.threads) == (2, 1, "gloo", 1)
    assert [reading.rank for reading in scaling.ranks] == [0, 1]
    assert all(reading.node and reading.device == "cpu" for reading in scaling.ranks)
    assert all(reading.load_seconds is None and reading.peak_memory_bytes for reading in scaling.ranks)
    assert sum(scaling.bucket_bytes) == scaling.gradient_bytes == 4 * (256 * 256 + 256 + 256 * 2 + 2)
    assert scaling.exchange_seconds is not None
    assert [exchange.bytes for exchange in scaling.exchanges][:3] == [4096, 65536, 1048576]
    assert measurement.batch_size == 16
    assert measurement.step_seconds == median(turn.together for turn in scaling.turns)
    assert measurement.first_step_seconds > 0


def test_a_slow_ranks_stall_is_its_own_and_not_communication(slow_rank: tuple[Measurement, Scaling]):
    _, scaling = slow_rank
    healthy, slow = scaling.ranks
    assert slow.step_seconds - healthy.step_seconds == pytest.approx(DELAY_SECONDS, abs=TOLERANCE)
    assert scaling.alone_seconds == pytest.approx(slow.step_seconds, abs=TOLERANCE)
    assert median(turn.mean for turn in scaling.turns) < scaling.alone_seconds - DELAY_SECONDS / 3
    assert scaling.exposed_seconds < TOLERANCE


@pytest.mark.slow
def test_a_delay_in_communication_is_exposed_communication_and_nobodys_own_step(runner: LocalRunner):
    _, scaling = measured(runner, "slow_communication", seconds=3.0)
    assert scaling.exposed_seconds == pytest.approx(DELAY_SECONDS, abs=TOLERANCE)
    assert scaling.alone_seconds < TOLERANCE
    assert all(reading.step_seconds < TOLERANCE for reading in scaling.ranks)
    assert scaling.exchange_seconds is None


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_rank_that_waits_for_its_data_is_read_as_such(runner: LocalRunner, num_workers: int):
    _, scaling = measured(runner, "slow_data", seconds=3.0, supply="loader", num_workers=num_workers)
    healthy, slow = scaling.ranks
    assert healthy.load_seconds is not None
    assert slow.load_seconds is not None
    assert healthy.load_seconds < DELAY_SECONDS / 2 < slow.load_seconds <= slow.step_seconds
    assert slow.together_load_seconds == pytest.approx(slow.load_seconds, abs=DELAY_SECONDS / 4)
    assert scaling.exposed_ci95[0] < TOLERANCE


@pytest.mark.slow
def test_a_rank_whose_batches_come_while_gradients_are_sent_does_not_wait_for_them_in_training(runner: LocalRunner):
    job = "slow_data_beside_slower_communication"
    _, scaling = measured(runner, job, seconds=5.0, supply="loader", num_workers=1)
    slow = scaling.ranks[1]
    assert slow.load_seconds is not None
    assert slow.together_load_seconds is not None
    assert slow.together_load_seconds < DELAY_SECONDS / 4 < DELAY_SECONDS / 2 < slow.load_seconds


@pytest.mark.slow
def test_one_device_is_the_plain_step_with_the_wrappers_cost_beside_it(runner: LocalRunner):
    measurement, scaling = measured(runner, "healthy", devices=1)
    assert scaling.backend is None
    assert scaling.exposed_seconds == 0
    assert scaling.exchanges == ()
    assert scaling.ddp_ratio is not None
    assert scaling.ddp_ratio_ci95 is not None
    assert scaling.ddp_ratio_ci95[0] <= scaling.ddp_ratio <= scaling.ddp_ratio_ci95[1]
    assert scaling.alone_seconds == measurement.step_seconds
    assert [reading.rank for reading in scaling.ranks] == [0]


@pytest.mark.slow
def test_one_device_that_is_fed_tells_its_waits(runner: LocalRunner):
    _, scaling = measured(runner, "slow_data", devices=1, supply="loader", num_workers=1)
    assert scaling.ranks[0].load_seconds is not None
    assert scaling.ddp_ratio is not None


@pytest.mark.slow
def test_known_models_accumulate_and_share_their_buffers(runner: LocalRunner):
    measurement, scaling = measured(runner, "torchvision:resnet18", accumulation_steps=2)
    assert sum(scaling.bucket_bytes) == scaling.gradient_bytes
    assert measurement.loss is not None


@pytest.mark.slow
def test_two_nodes_measure_as_one_and_both_know_the_result(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRAINDYNO_TOKEN", "a secret of these tests")
    runners = [LocalRunner(WORKER_ENTRY, Deadlines()) for _ in range(2)]
    try:
        first, second = run_nodes(runners, spec_of("healthy", nodes=2))
    finally:
        for runner in runners:
            runner.close()
    assert first.outcome is Outcome.OK, first.failure
    assert first.measurement is not None
    assert first.measurement.scaling is not None
    assert first.measurement.scaling.nodes == 2
    assert [reading.rank for reading in first.measurement.scaling.ranks] == [0, 1]
    assert second.measurement == first.measurement


@pytest.mark.gpu
def test_one_gpu_agrees_with_the_plain_speed_trial():
    """Roughly, for machines are noisy: one_device.py of the benchmarks compares them closely."""
    spec = spec_of("torchvision:resnet50", devices=1, seconds=5.0)
    on_gpu = Settings(batch_size=64, device="cuda:0")
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        records = [
            runner.run(replace(spec, kind=kind, settings=on_gpu), Watcher(), None)
            for kind in ("speed", "scale", "speed", "scale")
        ]
    finally:
        runner.close()
    seconds = [record.measurement.step_seconds for record in records if record.measurement is not None]
    assert len(seconds) == 4
    assert min(seconds[1::2]) == pytest.approx(min(seconds[::2]), rel=0.25)
