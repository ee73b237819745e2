"""Every way one rank of a group can go wrong: the trial ends soon, with that rank's name, and nobody is left."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import traindyno
from faults.leftovers import processes_left
from keepers import Keepers
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from worker.ranks.groups import JOBS, run_nodes, spec_of

LONG_SECONDS = 60.0
SOON_SECONDS = 30.0
"""Far from the half hour of a collective, and generous to a busy machine."""


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def failure_of(runner: LocalRunner, job: str, **more: object) -> Failure:
    """How a group ends that would go on for a minute."""
    spec = spec_of(job, seconds=LONG_SECONDS, relative_interval=0.0, **more)  # type: ignore[arg-type]
    record = runner.run(spec, Watcher(), None)
    assert record.failure is not None
    assert record.failure.remedy
    return record.failure


@pytest.mark.parametrize(
    ("job", "outcome", "evidence"),
    [
        ("is_killed", Outcome.KILLED, "was ended by SIGKILL"),
        pytest.param("raises", Outcome.USER_ERROR, "the user's own mistake", marks=pytest.mark.slow),
        pytest.param("exits", Outcome.CRASH, "exited with code 3", marks=pytest.mark.slow),
        pytest.param(
            "runs_out_of_device_memory", Outcome.OUT_OF_DEVICE_MEMORY, "out of memory", marks=pytest.mark.slow
        ),
        pytest.param("runs_out_of_host_memory", Outcome.OUT_OF_HOST_MEMORY, "allocate memory", marks=pytest.mark.slow),
    ],
)
def test_the_rank_that_failed_is_named_with_its_own_cause(
    runner: LocalRunner, job: str, outcome: Outcome, evidence: str
) -> None:
    failure = failure_of(runner, job)
    assert failure.outcome is outcome
    assert failure.message.startswith("rank 1 of 2 on ")
    assert evidence in failure.message
    assert failure.details["rank"] == "1"
    assert failure.details["node"]
    assert processes_left() == []


@pytest.mark.slow
def test_a_rank_that_hangs_is_named_with_the_place_where_it_stands(runner: LocalRunner) -> None:
    failure = failure_of(runner, "hangs", silence_seconds=3.0)
    assert failure.outcome is Outcome.HANG
    assert failure.message.startswith("rank 1 of 2 on ")
    assert "'forward'" in failure.message
    assert "group_jobs.py" in (failure.traceback or "")
    assert processes_left() == []


@pytest.mark.slow
def test_a_rank_that_was_stopped_is_named_though_it_cannot_answer(runner: LocalRunner) -> None:
    failure = failure_of(runner, "stops", silence_seconds=3.0)
    assert failure.outcome is Outcome.HANG
    assert failure.details["rank"] == "1"
    assert "is stopped" in failure.remedy
    assert processes_left() == []


@pytest.mark.slow
def test_a_launcher_that_was_killed_is_not_told_as_the_end_of_a_rank(runner: LocalRunner) -> None:
    failure = failure_of(runner, "kills_its_launcher")
    assert failure.outcome is Outcome.KILLED
    assert "torchrun was ended by SIGKILL" in failure.message
    assert processes_left() == []


@pytest.mark.slow
def test_parameters_without_a_part_in_the_loss_are_told_with_what_to_do(runner: LocalRunner) -> None:
    failure = failure_of(runner, "has_unused_parameters")
    assert failure.outcome is Outcome.USER_ERROR
    assert "requires_grad_(False)" in failure.remedy


@pytest.mark.slow
def test_the_users_limit_on_steps_ends_a_rank_that_hangs(tmp_path: Path) -> None:
    with pytest.raises(NothingMeasuredError, match=r"rank 1 of 2 .* \(allowed: 3 s\)"):
        traindyno.scale(
            f"{JOBS}:hangs", devices=[2], batch_per_device=8, device="cpu", step_timeout_seconds=3.0, repeats=1,
            trial_seconds=LONG_SECONDS, store=str(tmp_path / "studies.db"),
        )  # fmt: skip
    assert processes_left() == []


@pytest.mark.slow
def test_a_rank_that_hangs_in_its_first_step_is_named_too(runner: LocalRunner) -> None:
    failure = failure_of(runner, "hangs_in_the_first_step", silence_seconds=3.0)
    assert failure.outcome is Outcome.HANG
    assert failure.details["rank"] == "1"
    assert failure.phase == "first step"
    assert processes_left() == []


@pytest.mark.slow
def test_a_wrong_network_interface_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nosuch0")
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        failure = failure_of(runner, "healthy")
        assert failure.outcome is Outcome.INFRASTRUCTURE
        assert "nosuch0" in failure.message
        assert "GLOO_SOCKET_IFNAME is 'nosuch0' there." in failure.remedy
        assert processes_left() == []
    finally:
        runner.close()


class Striking(Watcher):
    """Kills the keeper of a node, and all it runs, once the group is at its steps."""

    def __init__(self, victim: LocalRunner) -> None:
        self._victim = victim
        self.phase = ""
        self.struck: float | None = None

    def progress(self, progress: object) -> None:
        self.phase = getattr(progress, "phase", "")

    def tick(self, now: float, pid: int | None) -> None:
        if self.phase == "turns" and self.struck is None:
            self.struck = time.monotonic()
            assert self._victim._link is not None
            self._victim._link._process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_a_node_that_is_lost_ends_the_trial_on_the_others(monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    monkeypatch.setenv("TRAINDYNO_TOKEN", "a secret of these tests")
    runners = [LocalRunner(WORKER_ENTRY, Deadlines()) for _ in range(2)]
    striking = Striking(runners[lost])
    spec = spec_of("healthy", nodes=2, seconds=LONG_SECONDS, relative_interval=0.0)
    try:
        records = run_nodes(runners, spec, striking)
        assert striking.struck is not None
        assert time.monotonic() - striking.struck < SOON_SECONDS
        failure = records[1 - lost].failure
        assert failure is not None
        assert failure.outcome is Outcome.INFRASTRUCTURE
        assert failure.message.startswith(f"node {lost} ")
        assert processes_left() == []
    finally:
        for runner in runners:
            runner.close()
