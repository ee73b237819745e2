"""A loader for which there is no room is refused in words, before it runs."""

from pathlib import Path

import msgspec
import pytest

import traindyno
from traindyno.analysis.loader_budget import LoaderRoom, batches_in_flight
from traindyno.app import loader_room
from traindyno.app.loader_room import RoomyRunner, batch_bytes
from traindyno.core.loading import Feed, Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialKind, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner

MIB = 2**20


class CountingRunner(SimulatedRunner):
    """Pretends to be real, so that the room is asked, and counts what it runs."""

    simulated = False

    def __init__(self) -> None:
        super().__init__(Profile())
        self.ran = 0

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self.ran += 1
        return super().run(spec, watcher, log_path)


def spec(workers: int, kind: TrialKind = "load", supply: str = "loader", batch_size: int = 64) -> TrialSpec:
    return TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model="", data="folder:/data"),
        settings=Settings(batch_size=batch_size, num_workers=workers),
        feed=Feed(supply=supply),  # type: ignore[arg-type]
    )


@pytest.fixture
def probe() -> TrialRecord:
    return SimulatedRunner(Profile()).run(spec(0, "probe"), Watcher(), None)


def roomy(monkeypatch: pytest.MonkeyPatch, room: LoaderRoom, probe: TrialRecord) -> tuple[RoomyRunner, CountingRunner]:
    monkeypatch.setattr(loader_room, "loader_room", lambda: room)
    inner = CountingRunner()
    return RoomyRunner(inner, [probe]), inner


def test_a_tiny_shared_memory_refuses_workers_but_not_the_main_process(
    monkeypatch: pytest.MonkeyPatch, probe: TrialRecord
) -> None:
    runner, inner = roomy(monkeypatch, LoaderRoom(shared_free_bytes=64 * MIB), probe)
    refused = runner.run(spec(8), Watcher(), None)
    assert refused.outcome is Outcome.OUT_OF_SHARED_MEMORY
    assert refused.failure is not None
    assert "/dev/shm has 64.0 MiB free" in refused.failure.message
    assert "--shm-size" in refused.failure.remedy
    assert inner.ran == 0
    assert runner.run(spec(0), Watcher(), None).ok
    assert inner.ran == 1


def test_too_little_memory_and_too_few_descriptors_are_refused_too(
    monkeypatch: pytest.MonkeyPatch, probe: TrialRecord
) -> None:
    runner, _ = roomy(monkeypatch, LoaderRoom(available_bytes=64 * MIB), probe)
    assert runner.run(spec(4, "feed"), Watcher(), None).outcome is Outcome.OUT_OF_HOST_MEMORY
    runner, _ = roomy(monkeypatch, LoaderRoom(open_files=64), probe)
    refused = runner.run(spec(4), Watcher(), None)
    assert refused.failure is not None
    assert "ulimit -n" in refused.failure.remedy


def test_what_starts_no_workers_is_not_held_back(monkeypatch: pytest.MonkeyPatch, probe: TrialRecord) -> None:
    runner, inner = roomy(monkeypatch, LoaderRoom(shared_free_bytes=0, available_bytes=0, open_files=0), probe)
    assert runner.run(spec(8, "speed", "resident"), Watcher(), None).ok
    assert inner.ran == 1


def test_cached_batches_come_from_workers_and_need_their_room(
    monkeypatch: pytest.MonkeyPatch, probe: TrialRecord
) -> None:
    runner, inner = roomy(monkeypatch, LoaderRoom(shared_free_bytes=64 * MIB), probe)
    assert runner.run(spec(8, "feed", "cached"), Watcher(), None).outcome is Outcome.OUT_OF_SHARED_MEMORY
    assert runner.run(spec(1, "feed", "cached"), Watcher(), None).ok
    assert inner.ran == 1


def test_every_rank_of_this_machine_has_a_loader_that_takes_its_room(
    monkeypatch: pytest.MonkeyPatch, probe: TrialRecord
) -> None:
    """Of a batch that four ranks share, two are loaded here: half of it, whatever the group."""
    alone = spec(4, "scale", batch_size=64)
    shared = msgspec.structs.replace(alone, group=Group(devices=4, nodes=2))
    whole = batch_bytes(alone, [probe])
    assert whole is not None
    in_flight = batches_in_flight(alone.settings) * whole // 2
    for free, runs in ((in_flight, 1), (in_flight - 1, 0)):
        runner, inner = roomy(monkeypatch, LoaderRoom(shared_free_bytes=free), probe)
        record = runner.run(shared, Watcher(), None)
        assert inner.ran == runs
        assert runs or (record.failure is not None and "in each of 2 processes" in record.failure.message)


def test_a_probe_hands_over_by_one_worker_and_needs_the_room_of_one(
    monkeypatch: pytest.MonkeyPatch, probe: TrialRecord
) -> None:
    runner, _ = roomy(monkeypatch, LoaderRoom(shared_free_bytes=64 * MIB), probe)
    assert runner.run(spec(8, "probe", "resident"), Watcher(), None).ok
    runner, inner = roomy(monkeypatch, LoaderRoom(available_bytes=64 * MIB), probe)
    assert runner.run(spec(0, "probe", "resident"), Watcher(), None).outcome is Outcome.OUT_OF_HOST_MEMORY
    assert inner.ran == 0


def test_a_run_that_only_reads_or_another_source_says_nothing_of_the_batch_of_whole_examples(
    probe: TrialRecord,
) -> None:
    assert probe.measurement is not None
    small = msgspec.structs.replace(probe.measurement, loading=Loading(batch_bytes=1024))
    reading = msgspec.structs.replace(spec(4), feed=Feed(depth="bytes"))
    elsewhere = msgspec.structs.replace(spec(4), workload=WorkloadSpec(model="", data="prepared:/p"))
    others = [
        TrialRecord(spec=other, outcome=Outcome.OK, seconds=1.0, measurement=small) for other in (reading, elsewhere)
    ]
    assert batch_bytes(spec(4), [probe, *others]) == 64 * 3 * 224 * 224
    assert batch_bytes(spec(4), others) is None


def test_the_bytes_of_a_batch_are_known_once_a_trial_has_told_and_grow_with_its_size(probe: TrialRecord) -> None:
    assert batch_bytes(spec(4), []) is None
    assert batch_bytes(spec(4), [probe]) == 64 * 3 * 224 * 224
    assert batch_bytes(spec(4, batch_size=128), [probe]) == 128 * 3 * 224 * 224


def test_the_room_of_this_machine_is_read() -> None:
    room = loader_room.loader_room()
    assert room.available_bytes
    assert room.open_files


def test_a_study_in_which_no_count_has_room_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from traindyno.app import loader, workshop

    monkeypatch.setattr(loader, "loader_room", lambda: LoaderRoom(shared_free_bytes=MIB))
    monkeypatch.setattr(workshop, "open_runner", lambda name, deadlines: CountingRunner())
    with pytest.raises(traindyno.TraindynoError, match=r"/dev/shm has 1\.00 MiB free") as caught:
        traindyno.loader("folder:/data", workers=[4, 8], device="cpu", store=str(tmp_path / "studies.db"))
    assert "--shm-size" in (caught.value.hint or "")
