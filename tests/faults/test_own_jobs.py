"""Training jobs of the user's own through the real runner and worker: what they return, tell and do wrong."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.hanging import hanging_job
from keepers import Keepers
from traindyno.core.events import TrialProgress
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.rounds import JobResult, Value
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

JOBS = Path(__file__).with_name("own_jobs.py")


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def run(
    runner: LocalRunner,
    job: str,
    arguments: dict[str, Value] | None = None,
    seed: int = 0,
    watcher: Watcher | None = None,
    jobs: Path = JOBS,
) -> TrialRecord:
    spec = TrialSpec(
        kind="job",
        workload=WorkloadSpec(model=f"{jobs}:{job}", arguments=arguments or {}),
        settings=Settings(batch_size=1),
        seed=seed,
    )
    return runner.run(spec, watcher or Watcher(), None)


def measured(record: TrialRecord) -> tuple[Measurement, JobResult]:
    assert record.outcome is Outcome.OK, record.failure
    assert record.measurement is not None
    assert record.measurement.job is not None
    return record.measurement, record.measurement.job


def failed(record: TrialRecord) -> Failure:
    assert record.failure is not None
    return record.failure


def test_a_number_is_the_metric_and_the_whole_job_is_one_step(runner: LocalRunner) -> None:
    measurement, job = measured(run(runner, "returns_a_number", {"rate": 0.25, "depth": 3}))
    assert job.value == 0.75
    assert (job.points, job.others) == ((), {})
    assert (measurement.batch_size, measurement.steps) == (1, 1)
    assert measurement.step_seconds == measurement.training_seconds == job.seconds > 0
    assert measurement.memory.peak_bytes > 0
    assert not measurement.steady


def test_the_first_of_several_figures_is_the_metric_and_all_keep_their_names(runner: LocalRunner) -> None:
    _, job = measured(run(runner, "returns_numbers_by_name", {"rate": 0.25}))
    assert job.value == 0.25
    assert job.others == {"error": 0.25, "accuracy": 0.75, "seconds": 2.0}


def test_what_a_job_reports_is_kept_and_shown_while_it_runs(runner: LocalRunner) -> None:
    heard: list[TrialProgress] = []

    class Listener(Watcher):
        def progress(self, progress: TrialProgress) -> None:
            heard.append(progress)

    _, job = measured(run(runner, "reports_by_the_way", {"rate": 0.5}, watcher=Listener()))
    assert [(each.step, each.value) for each in job.points] == [(1, 0.0), (2, 0.5), (3, 1.0), (4, 1.5)]
    assert [each.training_loss for each in job.points] == [4, 3, 2, 1]
    assert [each.validation_loss for each in job.points] == [5, 4, 3, 2]
    assert [each.seconds for each in job.points] == sorted(each.seconds for each in job.points)
    assert job.points[-1].seconds <= job.seconds
    assert any(each.steps >= 1 and each.planned_steps == 4 for each in heard)


def test_seed_and_device_are_handed_over_if_the_function_takes_them(runner: LocalRunner) -> None:
    _, job = measured(run(runner, "reports_by_the_way", {"rate": 0.5}, seed=7))
    assert (job.others["seed"], job.others["on_cpu"]) == (7, 1.0)
    _, anything = measured(run(runner, "takes_anything", {"rate": 0.5}, seed=8))
    assert anything.others == {"count": 4, "seed": 8}


def test_the_seed_decides_what_a_job_draws_even_if_it_does_not_take_it(runner: LocalRunner) -> None:
    first, again, other = (measured(run(runner, "draws", seed=seed))[1].others for seed in (3, 3, 4))
    assert first == again
    assert all(first[name] != other[name] for name in ("torch", "numpy", "python"))


@pytest.mark.parametrize("job", ["loses_its_numbers", "becomes_infinite"])
def test_a_metric_that_is_no_number_is_a_result_and_not_a_failure(runner: LocalRunner, job: str) -> None:
    _, result = measured(run(runner, job))
    assert math.isnan(result.value)
    if job == "becomes_infinite":
        assert result.others == {"loss": math.inf, "accuracy": 0.1}


def test_a_users_mistake_comes_with_the_users_own_traceback(runner: LocalRunner) -> None:
    record = run(runner, "raises", {"rate": 0.2})
    assert record.outcome is Outcome.USER_ERROR
    failure = failed(record)
    assert "the user's own mistake" in failure.message
    assert "own_jobs.py" in (failure.traceback or "")
    assert "own_jobs.py" in failure.remedy
    assert "kinds/job.py" not in (failure.traceback or "")


@pytest.mark.parametrize(
    ("job", "outcome"),
    [
        ("raises_in_the_middle", Outcome.OUT_OF_DEVICE_MEMORY),
        ("runs_out_of_memory", Outcome.OUT_OF_HOST_MEMORY),
    ],
)
def test_a_job_that_finds_no_memory_is_told_from_a_mistake(runner: LocalRunner, job: str, outcome: Outcome) -> None:
    assert run(runner, job).outcome is outcome


@pytest.mark.parametrize(
    ("job", "arguments", "message", "remedy"),
    [
        ("returns_a_number", {"rat": 1}, "takes no argument 'rat'", "did you mean rate? It takes rate, depth"),
        ("returns_a_number", {"seed": 1}, "seed is no hyperparameter", "every run is handed its own"),
        ("reports_by_the_way", {}, "requires arguments (rate)", "give them defaults"),
        ("returns_nothing", {}, "returned is a NoneType, not a number", "return the metric"),
        ("returns_a_text_by_name", {}, "the notes that own_jobs.py:returns_a_text_by_name", "return the metric"),
        ("reports_nonsense", {}, "the value is a str, not a number", "write report(step, value"),
        ("returns_a_numbr", {}, "has no function 'returns_a_numbr'", "returns_a_number"),
    ],
)
def test_what_cannot_be_a_job_is_a_mistake_with_its_remedy(
    runner: LocalRunner, job: str, arguments: dict[str, Value], message: str, remedy: str
) -> None:
    record = run(runner, job, arguments)
    assert record.outcome is Outcome.USER_ERROR
    assert message in failed(record).message
    assert remedy in failed(record).remedy


@pytest.mark.parametrize("job", ["hangs_before_its_first_report", "hangs_after_a_report"])
def test_a_job_that_promised_to_report_and_falls_silent_hangs(
    runner: LocalRunner, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = run(runner, job, jobs=hanging_job(JOBS, tmp_path, monkeypatch))
    assert record.outcome is Outcome.HANG
    assert "own_jobs.py" in (failed(record).log_tail or "")


def test_a_job_without_reports_may_be_silent_for_long(runner: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_deadlines", Deadlines(first_step=0.3, step=0.3, patience=1))
    assert measured(run(runner, "is_long_and_silent"))[1].seconds >= 0.8
