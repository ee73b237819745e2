"""Every way an arm of a pair can go wrong: the trial ends as one process would, and nobody is left behind."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from faults.hanging import hanging_job
from faults.leftovers import processes_left
from keepers import Keepers
from traindyno.analysis.probes import not_applicable
from traindyno.app.study import stops_study
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Failure, MemoryFormat, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner import local
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.search.switches.trying import fits_apart, is_of_baseline

JOBS = Path(__file__).with_name("pair_jobs.py")
LONG_SECONDS = 600.0
FAILING, HEALTHY = Settings(batch_size=8), Settings(batch_size=4)


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def run(
    runner: LocalRunner,
    job: str,
    failing: str = "candidate",
    watcher: Watcher | None = None,
    seconds: float = LONG_SECONDS,
    jobs: Path = JOBS,
) -> TrialRecord:
    """A pair that goes on until it fails, or for so many seconds."""
    baseline, candidate = (FAILING, HEALTHY) if failing == "baseline" else (HEALTHY, FAILING)
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model=f"{jobs}:{job}"),
        settings=candidate,
        against=baseline,
        budget=Budget(seconds=seconds, relative_interval=0.0),
        memory_limit_bytes=1 << 30,
    )
    return runner.run(spec, watcher or Watcher(), None)


def failure_of(record: TrialRecord) -> Failure:
    assert record.failure is not None
    assert record.failure.remedy
    return record.failure


@pytest.mark.parametrize(
    ("job", "failing", "outcome", "evidence"),
    [
        ("first_raises", "baseline", Outcome.USER_ERROR, "the user's own mistake"),
        ("later_raises", "candidate", Outcome.USER_ERROR, "the user's own mistake"),
        ("first_loses_its_loss", "candidate", Outcome.NONFINITE, "nan"),
        ("first_runs_out_of_memory", "candidate", Outcome.OUT_OF_HOST_MEMORY, "memory"),
    ],
)
def test_an_arm_that_fails_fails_the_trial_with_its_own_evidence(
    runner: LocalRunner, job: str, failing: str, outcome: Outcome, evidence: str
) -> None:
    failure = failure_of(run(runner, job, failing))
    assert failure.outcome is outcome
    assert evidence in failure.message
    assert failure.details["arm"] == failing
    assert (failure.phase or "").startswith(f"{failing}: ")
    assert "pair_jobs.py" in (failure.traceback or "") or outcome is Outcome.NONFINITE
    assert processes_left() == []


@pytest.mark.parametrize(
    ("job", "failing", "outcome", "evidence"),
    [
        ("first_exits", "baseline", Outcome.CRASH, "code 3 in phase 'baseline: first step'"),
        ("later_exits_with_success", "candidate", Outcome.CRASH, "code 0 in phase 'candidate: turns'"),
        ("first_segfaults", "candidate", Outcome.CRASH, "SIGSEGV in phase 'candidate: first step'"),
        ("later_segfaults", "baseline", Outcome.CRASH, "SIGSEGV in phase 'baseline: turns'"),
        ("later_is_killed", "candidate", Outcome.KILLED, "SIGKILL"),
        ("later_leaves_processes_behind", "candidate", Outcome.CRASH, "code 4 in phase 'candidate: turns'"),
        ("later_kills_the_trial", "baseline", Outcome.KILLED, "SIGKILL"),
    ],
)
def test_an_arm_that_dies_without_a_word_ends_the_trial_in_the_same_way(
    runner: LocalRunner, job: str, failing: str, outcome: Outcome, evidence: str
) -> None:
    failure = failure_of(run(runner, job, failing))
    assert failure.outcome is outcome
    assert evidence in failure.message
    assert processes_left() == []


@pytest.mark.parametrize(("job", "failing"), [("first_hangs", "candidate"), ("later_hangs", "baseline")])
def test_an_arm_that_hangs_is_a_hang_with_its_stack_in_the_log(
    runner: LocalRunner, job: str, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = failure_of(run(runner, job, failing, jobs=hanging_job(JOBS, tmp_path, monkeypatch)))
    assert failure.outcome is Outcome.HANG
    assert "pair_jobs.py" in (failure.log_tail or "")
    assert processes_left() == []


def test_an_arm_that_is_killed_from_outside_ends_the_trial(runner: LocalRunner) -> None:
    class Assassin(Watcher):
        """Strikes one of the arms during the turns, whether it computes or waits."""

        phase, struck = "", False

        def progress(self, progress: object) -> None:
            self.phase = getattr(progress, "phase", "")

        def tick(self, now: float, pid: int | None) -> None:
            if pid is not None and self.phase == "turns" and not self.struck:
                self.struck = True
                psutil.Process(pid).children()[0].kill()

    assert run(runner, "first_healthy", watcher=Assassin()).outcome is Outcome.KILLED
    assert processes_left() == []


def test_an_arm_that_the_kernel_kills_for_memory_may_run_alone(
    runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "oom_kill_count", itertools.count().__next__)
    record = run(runner, "later_is_killed")
    assert record.outcome is Outcome.OUT_OF_HOST_MEMORY
    assert fits_apart(record)


@pytest.mark.parametrize("layouts", [("contiguous", "channels_last"), ("channels_last", "contiguous")])
def test_a_layout_is_not_compared_where_nothing_has_four_dimensions(
    runner: LocalRunner, layouts: tuple[MemoryFormat, MemoryFormat]
) -> None:
    """It says something of the candidate alone, and beside another setting it does no harm."""
    baseline, candidate = (msgspec.structs.replace(HEALTHY, memory_format=layout) for layout in layouts)
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model=f"{JOBS}:first_healthy"),
        settings=candidate,
        against=baseline,
        budget=Budget(seconds=0.2),
    )
    record = runner.run(spec, Watcher(), None)
    assert failure_of(record).message.startswith("neither an input nor a weight has four dimensions")
    assert not_applicable(record)
    assert not stops_study(record)
    assert not is_of_baseline(record)
    both = msgspec.structs.replace(spec, settings=msgspec.structs.replace(candidate, optimizer_kernel="foreach"))
    measured = runner.run(both, Watcher(), None).measurement
    assert measured is not None
    assert measured.has_images is False
    assert processes_left() == []


def test_the_next_pair_is_healthy(runner: LocalRunner) -> None:
    assert run(runner, "first_segfaults").outcome is Outcome.CRASH
    assert run(runner, "first_healthy", seconds=0.2).outcome is Outcome.OK
    assert processes_left() == []


@pytest.mark.gpu
def test_an_arm_that_does_not_fit_beside_the_other_says_so_and_fits_alone() -> None:
    on_gpu = Settings(batch_size=8, device="cuda:0")
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model=f"{JOBS}:first_takes_most_of_the_device"),
        settings=on_gpu,
        against=on_gpu,
        budget=Budget(seconds=0.5),
    )
    alone = TrialSpec(kind="speed", workload=spec.workload, settings=on_gpu, budget=spec.budget)
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        failure = failure_of(runner.run(spec, Watcher(), None))
        assert failure.outcome is Outcome.OUT_OF_DEVICE_MEMORY
        assert failure.details["arm"] == "candidate"
        assert int(failure.details["device_free_bytes"]) > 0
        assert runner.run(alone, Watcher(), None).outcome is Outcome.OK
    finally:
        runner.close()
    assert processes_left() == []
