"""The far end of a lane, asked as Ray would ask it."""

import hashlib
import os
import tempfile
from pathlib import Path

import pytest

from ray_nodes import wait_for
from traindyno.core.codec import decode, encode
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner import ray_lane
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.runner.ray_lane import Lane
from traindyno.runner.ray_words import LaneFacts, LaneOrders, Word
from traindyno.runner.trial_log import TrialLog


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A lane settles in its process, which is ours here."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)


def lane_in(folder: Path, runner: str = "simulated", threads: str | None = None) -> Lane:
    orders = LaneOrders(runner=runner, deadlines=Deadlines(), device="cpu", folder=str(folder), threads=threads)
    return Lane(encode(orders))


def end_of(lane: Lane, model: str = "mlp:64", source_sha256: str | None = None) -> Word:
    word = begun(lane, model, source_sha256)
    lane.close()
    return word


def begun(lane: Lane, model: str = "mlp:64", source_sha256: str | None = None) -> Word:
    """What a lane tells of a trial when it has ended."""
    workload = WorkloadSpec(model=model, source_sha256=source_sha256)
    lane.begin(encode(TrialSpec(kind="speed", workload=workload, settings=Settings(batch_size=8))))
    words: list[Word] = []
    wait_for("a record", lambda: words.append(decode(lane.hear(), Word)) or words[-1].record is not None)
    return words[-1]


def test_a_trial_is_run_as_the_orders_say(tmp_path: Path) -> None:
    record = end_of(lane_in(tmp_path)).record
    assert record is not None
    assert record.ok
    assert record.measurement is not None


def test_a_lane_tells_of_its_own_machine_and_not_of_the_drivers(tmp_path: Path) -> None:
    facts = decode(lane_in(tmp_path).facts(), LaneFacts)
    assert facts.machine.hostname == os.uname().nodename
    assert facts.memory_limit_bytes is not None
    assert facts.refused_because is None


def test_threads_are_those_of_the_drivers_command_and_not_what_ray_sets(tmp_path: Path) -> None:
    lane_in(tmp_path)
    assert "OMP_NUM_THREADS" not in os.environ
    lane_in(tmp_path, threads="3")
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_a_trial_that_is_stopped_says_so(tmp_path: Path) -> None:
    lane = lane_in(tmp_path, runner="simulated:sleep=60")
    lane.begin(encode(TrialSpec(kind="speed", workload=WorkloadSpec(model="mlp:64"), settings=Settings(batch_size=8))))
    lane.stop()
    words: list[Word] = []
    wait_for("a record", lambda: words.append(decode(lane.hear(), Word)) or words[-1].record is not None)
    assert words[-1].record is not None
    assert words[-1].record.outcome is Outcome.INTERRUPTED


def test_code_that_is_not_on_the_machine_is_a_usage_error_that_names_both(tmp_path: Path) -> None:
    record = end_of(lane_in(tmp_path), "job.py:workload", "0" * 64).record
    assert record is not None
    assert record.failure is not None
    assert (record.outcome, record.failure.error_type) == (Outcome.USER_ERROR, "UsageError")
    assert record.failure.message == f"there is no file {tmp_path / 'job.py'} on {os.uname().nodename}"
    assert "same path on every machine" in record.failure.remedy


def test_other_code_at_the_same_path_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("raise SystemExit")
    record = end_of(lane_in(tmp_path), "job.py:workload", "0" * 64).record
    assert record is not None
    assert record.failure is not None
    assert "is not the file that the study was begun with" in record.failure.message


def test_the_same_code_at_the_same_path_is_run(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def workload(): ...")
    source = hashlib.sha256((tmp_path / "job.py").read_bytes()).hexdigest()
    record = end_of(lane_in(tmp_path), "job.py:workload", source).record
    assert record is not None
    assert record.ok


class Talking:
    """A runner whose trial prints."""

    simulated = True

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        log = TrialLog(log_path)
        log.append(b"it printed this\n")
        log.close()
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0)

    def close(self) -> None: ...


def test_the_end_of_a_trials_log_is_told_and_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane may be killed, and could not tidy up then."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ray_lane, "open_runner", lambda *_: Talking())
    lane = lane_in(tmp_path)
    assert begun(lane).log == "it printed this\n"
    assert begun(lane).log == "it printed this\n"
    assert list(tmp_path.iterdir()) == []
    lane.close()
