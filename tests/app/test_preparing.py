"""Data is prepared when a search first wants it, and a failure at that is no end of the search."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from traindyno.app import preparing
from traindyno.app.preparing import PreparingRunner, check_folder, is_prepared, request_for
from traindyno.app.study import stops_study
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, Notice, TrialProgress
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.worker.data.set_files import locked_folder
from worker.data.prepared_sets import prepare
from worker.data.tiny_sets import write_folder

FILES = [f"{split}/{kind}/{number}.jpg" for split in ("train", "val") for kind in ("cat", "dog") for number in range(4)]


class RealRunner(SimulatedRunner):
    """Pretends to be real, so that data is prepared, and notes from where it was asked to train."""

    simulated = False

    def __init__(self) -> None:
        super().__init__(Profile())
        self.sources: list[str] = []

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self.sources.append(spec.workload.data)
        return super().run(spec, watcher, log_path)


class Ear(Watcher):
    """Hears how far it is, and stops it after so many questions."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.heard: list[TrialProgress] = []
        self.ticks, self._stop_after = 0, stop_after

    def progress(self, progress: TrialProgress) -> None:
        self.heard.append(progress)

    def tick(self, now: float, pid: int | None) -> None:
        self.ticks += 1

    def should_stop(self) -> bool:
        return self.ticks > self._stop_after


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "usable_processes", lambda wanted: 1)


@pytest.fixture
def workload(tmp_path: Path) -> WorkloadSpec:
    return WorkloadSpec(model="torchvision:resnet18", data=f"folder:{write_folder(tmp_path / 'set', FILES)}")


class Bench:
    """A preparing runner around one that pretends, and all that it told."""

    def __init__(
        self,
        workload: WorkloadSpec,
        folder: Path,
        left: Callable[[], float | None] = lambda: None,
        records: Sequence[TrialRecord] = (),
    ) -> None:
        self.inner, self.events, self._workload = RealRunner(), list[Event](), workload
        self.runner = PreparingRunner(self.inner, workload, str(folder), self.events.append, left, records)

    def run(self, data: str, watcher: Watcher | None = None) -> TrialRecord:
        workload = WorkloadSpec(model=self._workload.model, data=data)
        spec = TrialSpec(kind="feed", workload=workload, settings=Settings(batch_size=4))
        return self.runner.run(spec, watcher or Ear(), None)


def test_it_is_prepared_once_before_the_first_trial_that_reads_it(workload: WorkloadSpec, tmp_path: Path) -> None:
    target = tmp_path / "prepared"
    bench, ear = Bench(workload, target), Ear()
    plain = bench.run(workload.data)
    assert not target.exists()
    first, second = bench.run(f"prepared:{target}", ear), bench.run(f"prepared:{target}")
    assert (target / "prepared.json").exists()
    assert first.seconds > second.seconds == pytest.approx(plain.seconds, rel=0.5)
    assert first.measurement is not None
    assert any(note.startswith("the data was prepared in ") for note in first.measurement.notes)
    assert second.measurement is not None
    assert second.measurement.notes == ()
    assert ear.heard[-2].phase == "preparing the data, 16 of 16 examples"
    assert ear.ticks
    assert any(isinstance(event, Notice) and "16 examples as u8" in event.text for event in bench.events)


def test_a_set_that_is_there_already_is_used_as_it_was_prepared(workload: WorkloadSpec, tmp_path: Path) -> None:
    target = tmp_path / "prepared"
    prepare(workload.data, target, shorter_side=32)
    record = Bench(workload, target).run(f"prepared:{target}")
    assert record.measurement is not None
    assert not any("was prepared" in note for note in record.measurement.notes)
    assert request_for(workload, target).shorter_side == 32


def test_a_set_is_prepared_once_it_is_finished_and_of_this_very_data(workload: WorkloadSpec, tmp_path: Path) -> None:
    target = tmp_path / "prepared"
    assert not is_prepared(target, workload)
    Bench(workload, target).run(f"prepared:{target}", Ear(stop_after=0))
    assert not is_prepared(target, workload)
    Bench(workload, target).run(f"prepared:{target}")
    assert is_prepared(target, workload)
    assert not is_prepared(target, WorkloadSpec(model=workload.model, data="folder:elsewhere"))


def test_the_same_data_by_another_path_is_known_again(
    workload: WorkloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "prepared"
    monkeypatch.chdir(tmp_path)
    prepare("folder:set", target, shorter_side=32)
    (tmp_path / "link").symlink_to("set")
    for data in (workload.data, "folder:./set", f"folder:{tmp_path / 'link'}"):
        check_folder(data, target)
        named = WorkloadSpec(model=workload.model, data=data)
        assert is_prepared(target, named)
        assert Bench(named, target).run(f"prepared:{target}").ok


def test_a_set_that_was_cut_short_goes_on(workload: WorkloadSpec, tmp_path: Path) -> None:
    target = tmp_path / "prepared"
    stopped = Bench(workload, target).run(f"prepared:{target}", Ear(stop_after=0))
    assert stopped.outcome is Outcome.INTERRUPTED
    assert Bench(workload, target).run(f"prepared:{target}").ok


def test_images_are_stored_as_much_larger_than_the_crop_as_256_is_than_224(tmp_path: Path) -> None:
    sides = [request_for(WorkloadSpec(model="m", image_size=size), tmp_path).shorter_side for size in (None, 112, 299)]
    assert sides == [256, 128, 342]


def told(workload: WorkloadSpec, image_size: int) -> TrialRecord:
    """A trial of the study that told which images the model takes."""
    spec = TrialSpec(kind="speed", workload=workload, settings=Settings(batch_size=4))
    record = SimulatedRunner(Profile()).run(spec, Watcher(), None)
    assert record.measurement is not None
    measurement = msgspec.structs.replace(record.measurement, image_size=image_size)
    return msgspec.structs.replace(record, measurement=measurement)


def test_the_stored_size_fits_the_images_that_the_model_was_seen_to_take(
    workload: WorkloadSpec, tmp_path: Path
) -> None:
    records: list[TrialRecord] = []
    bench, target = Bench(workload, tmp_path / "prepared", records=records), tmp_path / "prepared"
    records.append(told(workload, 28))
    assert bench.run(f"prepared:{target}").ok
    assert request_for(workload, target).shorter_side == 32


def test_a_set_of_images_smaller_than_the_crop_is_refused_and_left_as_it_is(
    workload: WorkloadSpec, tmp_path: Path
) -> None:
    target = tmp_path / "prepared"
    prepare(workload.data, target, shorter_side=32)
    assert Bench(workload, target, records=[told(workload, 32)]).run(f"prepared:{target}").ok
    bench = Bench(workload, target, records=[told(workload, 33)])
    record = bench.run(f"prepared:{target}")
    assert record.outcome is Outcome.DATA_ERROR
    assert record.failure is not None
    assert "have a shorter side of 32 px, and 33 px are trained on" in record.failure.message
    assert "name another folder" in record.failure.remedy
    assert bench.inner.sources == []
    assert is_prepared(target, workload)


def no_such_data(workload: WorkloadSpec, target: Path) -> Bench:
    return Bench(WorkloadSpec(model=workload.model, data="folder:/no/such"), target)


def no_time(workload: WorkloadSpec, target: Path) -> Bench:
    return Bench(workload, target, left=lambda: 0.0)


def not_a_folder(workload: WorkloadSpec, target: Path) -> Bench:
    target.write_text("a file")
    return Bench(workload, target)


def another_writer(workload: WorkloadSpec, target: Path) -> Bench:
    return Bench(workload, target)


def a_full_disk(workload: WorkloadSpec, target: Path) -> Bench:
    return Bench(workload, target)


@pytest.mark.parametrize(
    ("bench_of", "message", "outcome"),
    [
        (no_such_data, "there is no /no/such", Outcome.DATA_ERROR),
        (not_a_folder, "is a file, not a folder", Outcome.DATA_ERROR),
        (no_time, "it would take about", Outcome.INFRASTRUCTURE),
        (a_full_disk, "are free", Outcome.INFRASTRUCTURE),
        (another_writer, "another traindyno is writing", Outcome.INFRASTRUCTURE),
    ],
)
def test_what_cannot_be_prepared_fails_its_trial_and_not_the_study(
    bench_of: Callable[[WorkloadSpec, Path], Bench],
    message: str,
    outcome: Outcome,
    workload: WorkloadSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if bench_of is a_full_disk:
        monkeypatch.setattr("traindyno.worker.data.set_files.free_bytes", lambda folder: 0)
    target = tmp_path / "prepared"
    bench = bench_of(workload, target)
    with locked_folder(target) if bench_of is another_writer else nullcontext():
        record = bench.run(f"prepared:{target}")
    assert record.outcome is outcome
    assert record.failure is not None
    assert message in record.failure.message
    assert record.failure.remedy
    assert not stops_study(record)
    assert bench.inner.sources == []


def test_a_simulation_prepares_nothing(tmp_path: Path) -> None:
    workload = WorkloadSpec(model="torchvision:resnet18", data="folder:/no/such")
    runner = PreparingRunner(SimulatedRunner(Profile()), workload, str(tmp_path / "p"), lambda event: None, lambda: 1.0)
    spec = TrialSpec(
        kind="feed",
        workload=WorkloadSpec(model=workload.model, data=f"prepared:{tmp_path / 'p'}"),
        settings=Settings(batch_size=4),
    )
    assert runner.run(spec, Watcher(), None).ok
    assert not any(tmp_path.iterdir())


def test_a_folder_that_holds_anything_else_is_refused_at_once(workload: WorkloadSpec, tmp_path: Path) -> None:
    target = tmp_path / "prepared"
    prepare(workload.data, target, shorter_side=32)
    check_folder(workload.data, target)
    check_folder(workload.data, tmp_path / "new")
    with pytest.raises(UsageError, match="holds another set, prepared from"):
        check_folder("folder:elsewhere", target)
    with pytest.raises(UsageError, match="is not empty"):
        check_folder(workload.data, tmp_path)
    with pytest.raises(UsageError, match="where the examples of"):
        check_folder(workload.data, tmp_path / "set" / "train" / "prepared")
