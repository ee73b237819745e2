"""Every way a loader can go wrong, through the real runner: class, remedy, and nobody left behind or waiting."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from faults.hanging import hanging_job
from faults.leftovers import processes_left
from keepers import Keepers
from traindyno.app.study import stops_study
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Failure, Settings, TrialKind, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from worker.data.tiny_sets import write_folder

JOBS = Path(__file__).with_name("loader_jobs.py")
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def trial(workload: WorkloadSpec, kind: TrialKind = "load", workers: int = 2) -> TrialSpec:
    return TrialSpec(
        kind=kind,
        workload=workload,
        settings=Settings(batch_size=8, num_workers=workers),
        budget=Budget(seconds=0.5),
        feed=Feed(),
    )


def run(runner: LocalRunner, job: str, kind: TrialKind = "load", jobs: Path = JOBS) -> TrialRecord:
    return runner.run(trial(WorkloadSpec(model=f"{jobs}:{job}"), kind), Watcher(), None)


def failed(record: TrialRecord) -> Failure:
    assert record.failure is not None
    return record.failure


@pytest.mark.parametrize(
    ("job", "outcome", "message", "remedy"),
    [
        ("killed", Outcome.KILLED, "ended by SIGKILL from outside", "fewer workers"),
        ("segfaults", Outcome.CRASH, "ended by SIGSEGV", "end of the log"),
        ("exits", Outcome.CRASH, "exited with code 3", "end of the log"),
        ("bus_error", Outcome.OUT_OF_SHARED_MEMORY, "end of shared memory", "/dev/shm"),
        ("raises", Outcome.DATA_ERROR, "the label of frame 7 is missing", "loader_jobs.py"),
        ("raises_an_error_of_its_own", Outcome.DATA_ERROR, "FrameError: frame 7", "loader_jobs.py"),
        ("many_tensors", Outcome.OUT_OF_SHARED_MEMORY, "Too many open files", "ulimit -n"),
        ("cannot_be_spawned", Outcome.DATA_ERROR, "'log' of the loader's dataset (HoldsAFile)", "worker_init_fn"),
        ("cannot_be_served", Outcome.DATA_ERROR, "the loader's collate_fn", "forked workers"),
        ("hands_over_a_generator", Outcome.DATA_ERROR, "cannot pickle 'generator' object", "return tensors"),
        ("few_items", Outcome.USER_ERROR, "larger than the data, which has 5 examples", "smaller batch"),
    ],
)
def test_an_ending_gets_its_class_and_remedy_and_leaves_no_process(
    runner: LocalRunner, job: str, outcome: Outcome, message: str, remedy: str
) -> None:
    record = run(runner, job)
    assert record.outcome is outcome
    assert message in failed(record).message
    assert remedy in failed(record).remedy
    assert processes_left() == []


def test_a_worker_that_never_delivers_is_a_hang(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = run(runner, "loops", jobs=hanging_job(JOBS, tmp_path, monkeypatch))
    assert record.outcome is Outcome.HANG
    assert "no progress" in failed(record).message
    assert "stack" in failed(record).remedy
    assert processes_left() == []


def test_a_worker_that_dies_while_it_feeds_a_model_is_told_alike(runner: LocalRunner) -> None:
    record = run(runner, "killed", kind="feed")
    assert record.outcome is Outcome.KILLED
    assert "a loader worker" in failed(record).message


def test_the_traceback_is_that_of_the_users_own_code_in_the_worker(runner: LocalRunner) -> None:
    told = failed(run(runner, "raises")).traceback or ""
    assert "loader_jobs.py" in told
    assert "site-packages" not in told
    assert told.rstrip().endswith("KeyError: 'the label of frame 7 is missing'")


def test_the_study_goes_on_after_a_dead_worker(runner: LocalRunner) -> None:
    run(runner, "killed")
    assert run(runner, "healthy").outcome is Outcome.OK


@pytest.mark.parametrize("workers", [0, 2])
def test_a_corrupt_image_is_named_with_a_way_out(runner: LocalRunner, tmp_path: Path, workers: int) -> None:
    folder = write_folder(tmp_path, [f"class{index % 2}/{index}.jpg" for index in range(16)])
    (folder / "class1" / "7.jpg").write_bytes(b"\xff\xd8 no image at all")
    record = runner.run(trial(WorkloadSpec(model="", data=f"folder:{folder}"), workers=workers), Watcher(), None)
    assert record.outcome is Outcome.DATA_ERROR
    assert "class1/7.jpg cannot be used" in failed(record).message
    assert "--skip-bad" in failed(record).remedy


def test_a_corrupt_image_is_left_out_and_counted_if_that_is_wanted(runner: LocalRunner, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 2}/{index}.jpg" for index in range(16)])
    (folder / "class1" / "7.jpg").write_bytes(b"")
    workload = WorkloadSpec(model="", data=f"folder:{folder}", skip_bad=True)
    record = runner.run(trial(workload), Watcher(), None)
    assert record.measurement is not None
    assert record.measurement.loading is not None
    assert record.measurement.loading.bad_examples == 1
    assert "class1/7.jpg" in record.measurement.loading.bad_names[0]


def test_data_too_short_to_be_measured_cold_is_told_and_the_study_goes_on(runner: LocalRunner, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"class{index % 2}/{index}.jpg" for index in range(16)])
    spec = trial(WorkloadSpec(model="", data=f"folder:{folder}"))
    record = runner.run(msgspec.structs.replace(spec, feed=Feed(cold=True)), Watcher(), None)
    assert "needs 120 examples, and the data has 16" in failed(record).message
    assert "fewer workers" in failed(record).remedy
    assert not stops_study(record)


IN_SMALL_SHARED_MEMORY = """
import json, sys
from traindyno.core.codec import decode
from traindyno.core.records import TrialSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
runner = LocalRunner(WORKER_ENTRY, Deadlines())
record = runner.run(decode(sys.argv[1], TrialSpec), Watcher(), None)
runner.close()
print(json.dumps([record.outcome, record.failure.message, record.failure.remedy]))
"""


def test_a_shared_memory_without_room_is_a_clear_error() -> None:
    """With a real one: /dev/shm of 4 MiB, which only the child sees."""
    from traindyno.core.codec import encode

    if shutil.which("unshare") is None or not _may_mount():
        pytest.skip("mounting a private tmpfs is not permitted here")
    mount_and_run = 'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec "$@"'
    spec = encode(trial(WorkloadSpec(model=f"{JOBS}:large_items")))
    command = (*NAMESPACE, "sh", "-c", mount_and_run, "sh", sys.executable, "-c", IN_SMALL_SHARED_MEMORY, spec)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    outcome, message, remedy = json.loads(done.stdout)
    assert outcome == Outcome.OUT_OF_SHARED_MEMORY
    assert "shared memory" in message
    assert "/dev/shm" in remedy


def _may_mount() -> bool:
    attempt = (*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    return subprocess.run(attempt, capture_output=True, check=False, timeout=60).returncode == 0
