"""Every way a trial can go wrong, through the real runner and worker: class, remedy, and nobody left behind."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from faults.hanging import hanging_job
from faults.leftovers import processes_left
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

JOBS = Path(__file__).with_name("jobs.py")
GIBIBYTE = 1 << 30


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    yield runner
    runner.close()


def run(runner: LocalRunner, job: str, log_path: Path | None = None, jobs: Path = JOBS) -> TrialRecord:
    spec = TrialSpec(
        kind="fit",
        workload=WorkloadSpec(model=f"{jobs}:{job}"),
        settings=Settings(batch_size=4),
        memory_limit_bytes=GIBIBYTE,
    )
    return runner.run(spec, Watcher(), log_path)


@pytest.mark.parametrize(
    ("job", "outcome", "evidence"),
    [
        ("segfaults", Outcome.CRASH, "SIGSEGV"),
        ("aborts", Outcome.CRASH, "SIGABRT"),
        ("exits", Outcome.CRASH, "code 3"),
        ("leaves_processes_behind", Outcome.CRASH, "code 4"),
        ("is_killed", Outcome.KILLED, "SIGKILL"),
        ("hangs_in_native_code", Outcome.HANG, "no progress"),
        ("raises", Outcome.USER_ERROR, "the user's own mistake"),
        ("runs_out_of_memory", Outcome.OUT_OF_HOST_MEMORY, "memory"),
        ("grows_slowly", Outcome.OUT_OF_HOST_MEMORY, "memory"),
        ("loses_its_loss", Outcome.NONFINITE, "nan"),
        ("has_broken_data", Outcome.DATA_ERROR, "cannot identify image file"),
    ],
)
def test_an_ending_gets_its_class_and_remedy_and_leaves_no_process(
    runner: LocalRunner,
    job: str,
    outcome: Outcome,
    evidence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = run(runner, job, jobs=hanging_job(JOBS, tmp_path, monkeypatch))
    assert record.outcome is outcome
    assert record.failure is not None
    assert evidence in record.failure.message
    assert record.failure.remedy
    assert processes_left() == []


def test_a_loader_that_never_delivers_is_a_hang_with_the_stack_in_the_log(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = hanging_job(JOBS, tmp_path, monkeypatch)
    record = run(runner, "loops_in_the_loader", tmp_path / "trial.log", jobs)
    assert record.outcome is Outcome.HANG
    assert record.failure is not None
    assert "phase 'data'" in record.failure.message
    assert "most recent call first" in (record.failure.log_tail or "")
    assert processes_left() == []


def test_a_users_mistake_comes_with_the_users_own_traceback(runner: LocalRunner) -> None:
    record = run(runner, "raises")
    assert record.failure is not None
    assert "jobs.py" in (record.failure.traceback or "")
    assert record.failure.error_type == "KeyError"


def test_the_study_goes_on_after_a_crash(runner: LocalRunner) -> None:
    assert run(runner, "segfaults").outcome is Outcome.CRASH
    assert run(runner, "healthy").outcome is Outcome.OK


def test_a_flood_of_output_is_cut_in_the_middle_and_the_trial_succeeds(runner: LocalRunner, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "flood.log"
    record = run(runner, "floods_the_log", log)
    assert record.outcome is Outcome.OK
    text = log.read_text()
    assert len(text) < 8 << 20
    assert "bytes left out" in text
    assert text.rstrip().endswith("the very last line")


def test_a_log_that_cannot_be_written_costs_nothing_but_the_log(runner: LocalRunner) -> None:
    record = run(runner, "floods_the_log", Path("/proc/no-such-folder/trial.log"))
    assert record.outcome is Outcome.OK


def test_a_full_disk_costs_nothing_but_the_log(runner: LocalRunner) -> None:
    assert run(runner, "floods_the_log", Path("/dev/full")).outcome is Outcome.OK


def test_a_killed_keeper_is_an_infrastructure_failure_and_the_next_trial_runs(runner: LocalRunner) -> None:
    class Assassin(Watcher):
        struck = False

        def tick(self, now: float, pid: int | None) -> None:
            if pid is not None and not self.struck:
                self.struck = True
                os.kill(psutil.Process(pid).ppid(), 9)

    spec = TrialSpec(
        kind="fit", workload=WorkloadSpec(model=f"{JOBS}:sleeps_in_native_code"), settings=Settings(batch_size=4)
    )
    record = runner.run(spec, Assassin(), None)
    assert record.outcome is Outcome.INFRASTRUCTURE
    assert processes_left() == []
    assert run(runner, "healthy").outcome is Outcome.OK


def test_a_request_to_stop_ends_the_trial_as_interrupted(runner: LocalRunner) -> None:
    class Impatient(Watcher):
        def should_stop(self) -> bool:
            return True

    spec = TrialSpec(
        kind="fit", workload=WorkloadSpec(model=f"{JOBS}:sleeps_in_native_code"), settings=Settings(batch_size=4)
    )
    record = runner.run(spec, Impatient(), None)
    assert record.outcome is Outcome.INTERRUPTED
    assert processes_left() == []


def test_a_request_to_stop_does_not_wait_for_the_keeper_to_be_ready() -> None:
    class Impatient(Watcher):
        def should_stop(self) -> bool:
            return True

        def tick(self, now: float, pid: int | None) -> None:
            assert pid is None, "no trial may start"

    runner = LocalRunner(WORKER_ENTRY, Deadlines(), preload=("torch", "traindyno.no_such_module"))
    spec = TrialSpec(kind="fit", workload=WorkloadSpec(model=f"{JOBS}:healthy"), settings=Settings(batch_size=4))
    try:
        record = runner.run(spec, Impatient(), None)
    finally:
        runner.close()
    assert record.outcome is Outcome.INTERRUPTED
    assert processes_left() == []


def test_a_trial_that_closes_its_output_still_ends_as_a_trial(runner: LocalRunner) -> None:
    record = run(runner, "closes_its_output")
    assert record.outcome is Outcome.OK
    assert run(runner, "healthy").outcome is Outcome.OK


def test_a_trial_that_hangs_after_its_result_is_ended_and_its_result_kept(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = run(runner, "never_exits", jobs=hanging_job(JOBS, tmp_path, monkeypatch))
    assert record.outcome is Outcome.OK
    assert processes_left() == []


def test_a_trial_that_progresses_but_never_ends_is_a_timeout(
    runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_deadlines", Deadlines(trial=2))
    spec = TrialSpec(
        kind="train",
        workload=WorkloadSpec(model=f"{JOBS}:healthy"),
        settings=Settings(batch_size=4),
        budget=Budget(steps=10**9),
    )
    assert runner.run(spec, Watcher(), None).outcome is Outcome.TIMEOUT


def test_a_spawned_trial_ends_like_a_forked_one() -> None:
    runner = LocalRunner(WORKER_ENTRY, Deadlines(), spawn=True)
    try:
        assert run(runner, "healthy").outcome is Outcome.OK
        assert run(runner, "exits").outcome is Outcome.CRASH
    finally:
        runner.close()
    assert processes_left() == []
