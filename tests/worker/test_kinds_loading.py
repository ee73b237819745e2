"""Trials that load examples, run in this process on data whose cost is known."""

import multiprocessing
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from traindyno.analysis.flow_pace import Pace
from traindyno.core.errors import UsageError
from traindyno.core.loading import Feed, Loading
from traindyno.core.records import Budget, Measurement, Settings, TrialKind, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.worker import flow_timing, image_data
from traindyno.worker.data.affinity import restrict_to_cpus
from traindyno.worker.devices import open_device
from traindyno.worker.errors import LargerThanDataError
from traindyno.worker.job import build_job
from traindyno.worker.kinds import KINDS
from traindyno.worker.lead import Lead, Ready
from worker.counted_device import SilentChannel
from worker.data.known_data import KnownExamples
from worker.data.tiny_sets import write_folder, write_shards

pytestmark = pytest.mark.usefixtures("one_thread")

ITEM_SECONDS = 0.004
BATCH = 4
LOADER, RESIDENT = Feed(), Feed(supply="resident")

SLEEPING = """
    import time, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from traindyno import Workload

    class Sleeping(Dataset):
        def __len__(self):
            return 40
        def __getitem__(self, index):
            time.sleep({item_seconds})
            return torch.zeros(6), index % 2

    def workload():
        return Workload(model=nn.Linear(6, 2), dataset=Sleeping())

    def with_loader():
        return Workload(model=nn.Linear(6, 2), loader=DataLoader(Sleeping(), batch_size=2))
"""


@pytest.fixture
def sleeping(tmp_path: Path) -> str:
    path = tmp_path / "sleeping.py"
    path.write_text(textwrap.dedent(SLEEPING.format(item_seconds=ITEM_SECONDS)))
    return f"{path}:workload"


def measure(
    kind: str, workload: WorkloadSpec, feed: Feed = LOADER, device: str = "cpu", seconds: float = 0.2, **knobs: Any
) -> Measurement:
    spec = TrialSpec(
        kind=kind,  # type: ignore[arg-type]
        workload=workload,
        settings=Settings(**{"batch_size": BATCH, "device": device, **knobs}),
        budget=Budget(seconds=seconds, relative_interval=0.1),
        feed=feed,
    )
    return KINDS[kind](spec, open_device(device), SilentChannel())


def use(monkeypatch: pytest.MonkeyPatch, examples: Any) -> WorkloadSpec:
    """A workload without model over data of the test's own."""
    monkeypatch.setattr(image_data, "open_examples", lambda data, mode, progress: examples)
    return WorkloadSpec(model="", data="folder:known", image_size=16)


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_no_loader_is_faster_than_its_workers_can_sleep(sleeping: str, workers: int) -> None:
    measurement = measure("load", WorkloadSpec(model=sleeping), num_workers=workers)
    possible = BATCH * ITEM_SECONDS / max(1, workers)
    assert 0.95 * possible < measurement.step_seconds < 10 * possible
    assert measurement.loading is not None
    assert measurement.loading.start_up_seconds is not None
    assert measurement.loading.start_up_seconds >= BATCH * ITEM_SECONDS


def test_sleeping_workers_use_hardly_any_cpu_and_that_is_seen(sleeping: str) -> None:
    measurement = measure("load", WorkloadSpec(model=sleeping), num_workers=2, seconds=0.5)
    assert measurement.loading is not None
    assert measurement.loading.worker_cpu_seconds is not None
    assert measurement.loading.worker_cpu_seconds < BATCH * ITEM_SECONDS
    assert measurement.loading.hand_off_seconds is not None


@pytest.mark.parametrize(("function", "own"), [("workload", (None, None)), ("with_loader", (2, 0))])
def test_a_fed_trial_tells_what_the_user_s_own_loader_has(
    sleeping: str, function: str, own: tuple[int | None, int | None]
) -> None:
    model = sleeping.replace(":workload", f":{function}")
    told = measure("feed", WorkloadSpec(model=model), num_workers=1).loading
    assert told is not None
    assert (told.own_batch_size, told.own_workers) == own


def test_a_loader_alone_is_told_by_its_intervals_its_start_and_the_size_of_a_batch(sleeping: str) -> None:
    measurement = measure("load", WorkloadSpec(model=sleeping), num_workers=2)
    loading = measurement.loading
    assert loading is not None
    assert loading.intervals is not None
    assert loading.intervals.median <= loading.intervals.p95 <= loading.intervals.longest
    assert loading.intervals.samples == measurement.steps == len(loading.intervals.raw)
    assert loading.batch_bytes == BATCH * (6 * 4 + 8)
    assert loading.next_epoch_seconds is not None
    assert measurement.examples_in_data == 40
    assert measurement.loss is None


@pytest.mark.parametrize("kind", ["feed", "anatomy"])
@pytest.mark.parametrize(("feed", "tells"), [(LOADER, True), (Feed(cold=True), False), (Feed(supply="cached"), False)])
def test_workers_are_asked_what_they_have_ready_wherever_they_feed_a_step(
    kind: TrialKind, feed: Feed, tells: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those of cold data, of which all that was read ahead of the clock must not count."""
    told: list[int | None] = []

    class Asking(Lead):
        def __init__(self, ready: Ready, pace: Pace) -> None:
            told.append(ready())
            super().__init__(ready, pace)

    monkeypatch.setattr(flow_timing, "Lead", Asking)
    data = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(80)])
    workload = WorkloadSpec(model="mlp:4", data=f"folder:{data}", image_size=16)
    measure(kind, workload, feed, num_workers=1, prefetch_factor=1)
    assert [each is not None for each in told] == [tells]


def test_a_users_loader_is_rebuilt_for_the_trial(sleeping: str) -> None:
    measurement = measure("load", WorkloadSpec(model=sleeping.replace("workload", "with_loader")), num_workers=1)
    assert measurement.loading is not None
    assert measurement.loading.batch_bytes == BATCH * (6 * 4 + 8)


def test_a_probe_finds_the_time_and_the_cpu_of_a_users_items(sleeping: str) -> None:
    measurement = measure("probe", WorkloadSpec(model=sleeping))
    assert measurement.loading is not None
    stages = {stage.stage: stage for stage in measurement.loading.stages}
    assert set(stages) == {"example", "collate"}
    assert stages["example"].seconds >= ITEM_SECONDS
    assert stages["example"].cpu_seconds < ITEM_SECONDS / 2
    assert measurement.step_seconds >= BATCH * ITEM_SECONDS
    assert measurement.loading.resident_step_seconds is None
    assert measurement.loading.most_workers is None


def test_a_probe_with_a_model_also_tells_its_step_and_what_reaching_it_costs(sleeping: str) -> None:
    loading = measure("probe", WorkloadSpec(model=sleeping), RESIDENT).loading
    assert loading is not None
    assert loading.resident_step_seconds is not None
    assert loading.step_cpu_seconds is not None
    assert loading.transfer_seconds is not None
    assert loading.hand_off_seconds is not None


def test_a_probe_finds_the_planted_bottleneck_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = use(monkeypatch, KnownExamples(fetch_seconds=0.01))
    measurement = measure("probe", workload)
    assert measurement.loading is not None
    stages = {stage.stage: stage for stage in measurement.loading.stages}
    assert set(stages) == {"fetch", "decode", "augment", "collate"}
    assert max(stages.values(), key=lambda stage: stage.seconds).stage == "fetch"
    assert stages["fetch"].cpu_seconds < 0.005 < 0.01 <= stages["fetch"].seconds
    assert measurement.loading.resident_step_seconds is None


def test_what_is_stored_as_pixels_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = measure("probe", use(monkeypatch, KnownExamples(as_pixels=True))).loading
    assert loading is not None
    assert [stage.stage for stage in loading.stages] == ["fetch", "augment", "collate"]


def test_a_probe_leaves_out_bad_examples_and_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = msgspec.structs.replace(use(monkeypatch, KnownExamples(bad=(3,))), skip_bad=True)
    loading = measure("probe", workload, batch_size=12).loading
    assert loading is not None
    assert (loading.bad_examples, loading.bad_names) == (1, ("image 3",))


def test_depths_go_less_and_less_far(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = use(monkeypatch, KnownExamples())
    sizes = []
    for depth in ("bytes", "pixels", "examples"):
        loading = measure("load", workload, Feed(depth=depth), num_workers=1).loading  # type: ignore[arg-type]
        assert loading is not None
        sizes.append(loading.batch_bytes)
    assert sizes == [BATCH * 16, BATCH * 16, BATCH * (16 * 16 * 3 + 8)]


def test_training_on_a_slow_loader_waits_for_it_and_training_on_cached_batches_does_not(sleeping: str) -> None:
    fed = measure("feed", WorkloadSpec(model=sleeping), Feed(supply="loader"), num_workers=1)
    cached = measure("feed", WorkloadSpec(model=sleeping), Feed(supply="cached"), num_workers=1)
    assert fed.loading is not None
    assert cached.loading is not None
    assert fed.step_seconds >= 0.95 * BATCH * ITEM_SECONDS
    assert fed.loading.wait_seconds is not None
    assert cached.loading.wait_seconds is not None
    assert fed.loading.wait_seconds > 10 * cached.loading.wait_seconds
    assert cached.step_seconds < fed.step_seconds
    assert fed.loading.resident_step_seconds is not None
    assert fed.loading.intervals is not None
    assert fed.loading.intervals.median <= fed.loading.intervals.p95 <= fed.loading.intervals.longest
    assert fed.loading.intervals.samples == fed.steps
    assert fed.loss is not None


def test_a_known_model_is_fed_from_a_folder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(12)])
    workload = WorkloadSpec(model="torchvision:squeezenet1_1", data=f"folder:{folder}", image_size=32)
    measurement = measure("feed", workload, Feed(supply="loader"), num_workers=1, seconds=0.1)
    assert measurement.loss is not None
    assert measurement.examples_in_data == 12
    assert measurement.loading is not None
    assert measurement.loading.cached_share in (1.0, None)


def test_cold_data_is_read_from_disk_pass_after_pass(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(80)])
    workload = WorkloadSpec(model="", data=f"folder:{folder}", image_size=16)
    measurement = measure("load", workload, Feed(cold=True), num_workers=1)
    assert measurement.loading is not None
    share = measurement.loading.cached_share
    assert share == 0.0 or "page cache" in measurement.notes[0]
    assert measurement.loading.next_epoch_seconds is None


def test_a_stream_of_shards_is_loaded_and_probed(tmp_path: Path) -> None:
    workload = WorkloadSpec(model="", data=f"shards:{write_shards(tmp_path, 4, 10)}", image_size=16)
    loading = measure("load", workload, num_workers=2).loading
    assert loading is not None
    assert loading.fill_seconds is not None
    probed = measure("probe", workload).loading
    assert probed is not None
    assert probed.most_workers == 4


@pytest.mark.parametrize(("model", "asked", "size"), [("ir:18", None, 112), ("torchvision:squeezenet1_1", 32, 32)])
def test_a_trial_tells_the_size_of_its_images_also_where_the_model_chose_it(
    model: str, asked: int | None, size: int, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(12)])
    workload = WorkloadSpec(model=model, data=f"folder:{folder}", image_size=asked, mode="infer")
    assert measure("feed", workload, Feed(supply="loader"), seconds=0.1, batch_size=1).image_size == size
    made_up = msgspec.structs.replace(workload, data="synthetic:")
    assert measure("fit", made_up, RESIDENT, batch_size=1).image_size == size


def test_the_size_of_a_users_own_items_is_not_told(sleeping: str) -> None:
    workload = WorkloadSpec(model=sleeping)
    assert measure("feed", workload, Feed(supply="loader"), seconds=0.1).image_size is None


@pytest.mark.parametrize("kind", ["fit", "speed"])
def test_resident_trials_take_their_batch_from_the_data(kind: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 3}/{index}.jpg" for index in range(12)])
    workload = WorkloadSpec(model="torchvision:squeezenet1_1", data=f"folder:{folder}", image_size=32)
    measurement = measure(kind, workload, RESIDENT)
    assert measurement.examples_in_data == 12
    with pytest.raises(LargerThanDataError, match="12 examples"):
        measure(kind, workload, RESIDENT, batch_size=13)


def test_a_known_model_gets_the_classes_of_the_data_and_never_fewer(tmp_path: Path) -> None:
    data = f"folder:{write_folder(tmp_path, ['a/1.jpg', 'b/2.jpg', 'c/3.jpg'])}"
    job = build_job(WorkloadSpec(model="torchvision:resnet18", data=data))
    assert job.model.fc.out_features == 3
    assert build_job(WorkloadSpec(model="torchvision:resnet18", data=data, classes=9)).model.fc.out_features == 9
    with pytest.raises(UsageError, match="has 3 classes, and the model was to have 2"):
        build_job(WorkloadSpec(model="torchvision:resnet18", data=data, classes=2))


def test_data_by_name_and_data_of_the_users_own_are_not_mixed(sleeping: str, tmp_path: Path) -> None:
    data = f"folder:{write_folder(tmp_path / 'set', ['a/1.jpg', 'b/2.jpg'])}"
    with pytest.raises(UsageError, match="its own dataset, and --data names"):
        build_job(WorkloadSpec(model=sleeping, data=data))


def test_bad_items_of_a_users_own_dataset_are_not_left_out_silently_or_at_all(sleeping: str) -> None:
    with pytest.raises(UsageError, match="--skip-bad cannot see") as raised:
        build_job(WorkloadSpec(model=sleeping, skip_bad=True))
    assert "let the dataset itself" in str(raised.value.hint)


def test_a_users_model_can_take_data_by_name(tmp_path: Path) -> None:
    data = f"folder:{write_folder(tmp_path / 'set', ['a/1.jpg', 'b/2.jpg'])}"
    (tmp_path / "own_model.py").write_text(
        "from torch import nn\ndef model(): return nn.Sequential(nn.Flatten(), nn.LazyLinear(2))\n"
    )
    job = build_job(WorkloadSpec(model=f"{tmp_path / 'own_model.py'}:model", data=data, image_size=8))
    images, labels = job.batch(2, torch.device("cpu"))
    assert images.shape == (2, 3, 8, 8)
    assert sorted(labels.tolist()) == [0, 1]
    assert job.loss(job.model, (images, labels)).isfinite()


def test_there_is_nothing_to_load_of_synthetic_data() -> None:
    with pytest.raises(UsageError, match="nothing to load") as raised:
        measure("load", WorkloadSpec(model="torchvision:resnet18"))
    assert "--data" in str(raised.value.hint)


def _restricted(count: int, answer: Any) -> None:
    restrict_to_cpus(count)
    answer.send((len(os.sched_getaffinity(0)), torch.get_num_threads()))


def test_a_trial_can_be_kept_to_some_of_the_cpus() -> None:
    mine, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_restricted, args=(1, theirs))
    child.start()
    assert mine.recv() == (1, 1)
    child.join()


def test_more_cpus_than_there_are_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match="CPUs were asked for"):
        restrict_to_cpus(10**6)


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    """Trials on a GPU run in processes of their own: the tests' process must never start CUDA."""
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    yield runner
    runner.close()


def on_gpu(runner: LocalRunner, kind: TrialKind, folder: Path, feed: Feed, **knobs: Any) -> Loading:
    data = write_folder(folder, [f"class{index % 3}/{index}.jpg" for index in range(24)])
    spec = TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model="torchvision:resnet18", data=f"folder:{data}", image_size=64),
        settings=Settings(batch_size=BATCH, device="cuda:0", num_workers=2, **knobs),
        budget=Budget(seconds=0.5),
        feed=feed,
    )
    record = runner.run(spec, Watcher(), None)
    assert record.measurement is not None, record.failure
    assert record.measurement.loading is not None
    return record.measurement.loading


@pytest.mark.gpu
@pytest.mark.parametrize("decoder", ["pil", "nvjpeg"])
@pytest.mark.parametrize("supply", ["loader", "cached"])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_gpu_is_fed_by_either_decoder(
    runner: LocalRunner, tmp_path: Path, decoder: str, supply: str, pinned: bool
) -> None:
    feed = Feed(supply=supply)  # type: ignore[arg-type]
    loading = on_gpu(runner, "feed", tmp_path, feed, pin_memory=pinned, decoder=decoder)
    assert loading.wait_seconds is not None
    assert loading.resident_step_seconds is not None


@pytest.mark.gpu
@pytest.mark.parametrize("decoder", ["pil", "nvjpeg"])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_probe_on_a_gpu_times_the_way_there(runner: LocalRunner, tmp_path: Path, decoder: str, pinned: bool) -> None:
    loading = on_gpu(runner, "probe", tmp_path, RESIDENT, pin_memory=pinned, decoder=decoder)
    assert loading.transfer_seconds is not None
    assert loading.transfer_seconds > 0
    assert loading.step_cpu_seconds is not None


@pytest.mark.gpu
def test_pinned_batches_are_loaded_for_a_gpu(runner: LocalRunner, tmp_path: Path) -> None:
    loading = on_gpu(runner, "load", tmp_path, LOADER, pin_memory=True, persistent_workers=True)
    assert loading.next_epoch_seconds is not None
    assert loading.hand_off_seconds is None
