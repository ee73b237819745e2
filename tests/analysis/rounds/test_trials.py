"""Records of a round as runs: their score, their curve, and how they ended."""

import math
from typing import Any

import msgspec
import pytest

from analysis.rounds.conclude_cases import ACCURACY, LOSS, RATE, a_round, a_run
from analysis.test_training import evaluation, learnt, measured
from traindyno.analysis.rounds.trials import best_first, better, round_trials, sign, tuning
from traindyno.core.learning import Learning
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.rounds import Draw, JobPoint, JobResult, RoundMetric, RoundTrial

DRAW = Draw(phase="search", arm="", index=3, values={"learning_rate": 0.1})
SPEC = TrialSpec(
    kind="learn",
    workload=WorkloadSpec(model="mlp:64"),
    settings=Settings(batch_size=10),
    seed=1003,
    draw=DRAW,
)


def a_record(learning: Learning | None = None, job: JobResult | None = None, spec: TrialSpec = SPEC) -> TrialRecord:
    measurement = msgspec.structs.replace(measured(100), learning=learning, job=job)
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=9.0, measurement=measurement)


def a_failure(outcome: Outcome) -> TrialRecord:
    failure = Failure(outcome=outcome, message="it was too much", remedy=REMEDIES[outcome])
    return TrialRecord(spec=SPEC, outcome=outcome, seconds=2.0, failure=failure)


def seen(record: TrialRecord, metric: RoundMetric = ACCURACY) -> RoundTrial:
    (trial,) = round_trials(a_round(RATE, metric=metric), [record])
    return trial


def test_the_score_is_that_of_the_end_unless_the_round_counts_the_best() -> None:
    record = a_record(learnt(0.5, 0.9, 0.8))
    assert seen(record).score == 0.8
    assert seen(record, RoundMetric(at="best")).score == 0.9


def test_the_best_loss_is_the_least() -> None:
    evaluations = tuple(evaluation(step, 0.5, loss) for step, loss in ((100, 0.9), (200, 0.4), (300, 0.6)))
    record = a_record(learnt(0.1, 0.2, 0.3, evaluations=evaluations))
    assert seen(record, LOSS).score == 0.6
    assert seen(record, RoundMetric(name="loss", higher_is_better=False, at="best")).score == 0.4


def test_a_run_keeps_what_it_was_for_and_how_fast_it_was() -> None:
    trial = seen(a_record(learnt(0.5, 0.9)))
    assert (trial.draw, trial.seed, trial.classes, trial.evaluation_examples) == (DRAW, 1003, 10, 400)
    assert trial.examples_per_second == pytest.approx(1000)
    assert trial.seconds == pytest.approx(2.0)


def test_a_curve_is_told_by_shares_of_the_planned_run() -> None:
    trial = seen(a_record(learnt(0.5, 0.9, planned_steps=400, pruned=True)))
    assert [place.share for place in trial.curve] == [0.25, 0.5]
    assert trial.curve[0].loss == trial.curve[0].training_loss == 0.5
    assert (trial.ending, trial.score, trial.feasible) == ("pruned", 0.9, True)


@pytest.mark.parametrize("learning", [{"diverged": True}, {"diverged": True, "pruned": True}])
def test_a_run_that_diverged_has_no_score_however_well_it_began(learning: dict[str, Any]) -> None:
    for metric in (ACCURACY, RoundMetric(at="best")):
        trial = seen(a_record(learnt(0.9, 0.1, **learning)), metric)
        assert (trial.ending, trial.score, trial.feasible) == ("diverged", None, False)


def test_a_run_whose_loss_never_was_a_number_is_told_apart_from_one_that_lost_it() -> None:
    lost = learnt(0.1, diverged=True, began_finite=False)
    never = tuple(msgspec.structs.replace(each, training_loss=math.nan) for each in lost.evaluations)
    trials = [seen(a_record(each)) for each in (lost, msgspec.structs.replace(lost, evaluations=never))]
    assert [(trial.ending, trial.never_finite) for trial in trials] == [("diverged", False), ("diverged", True)]


def test_a_score_that_is_no_number_is_a_divergence() -> None:
    assert seen(a_record(learnt(0.9, math.nan))).ending == "diverged"
    assert seen(a_record(job=JobResult(value=math.nan, points=(), seconds=1.0))).ending == "diverged"


def test_a_run_without_classes_has_no_accuracy_to_score() -> None:
    trial = seen(a_record(learnt(None, None)))
    assert (trial.ending, trial.feasible) == ("ok", False)
    assert trial.message == "the run has no accuracy"


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        (Outcome.OUT_OF_DEVICE_MEMORY, "out_of_memory"),
        (Outcome.OUT_OF_HOST_MEMORY, "out_of_memory"),
        (Outcome.OUT_OF_SHARED_MEMORY, "out_of_memory"),
        (Outcome.TIMEOUT, "timed_out"),
        (Outcome.HANG, "timed_out"),
        (Outcome.CRASH, "crashed"),
        (Outcome.CUDA_FAULT, "crashed"),
        (Outcome.KILLED, "crashed"),
        (Outcome.NONFINITE, "diverged"),
        (Outcome.USER_ERROR, "failed"),
        (Outcome.DATA_ERROR, "failed"),
        (Outcome.INFRASTRUCTURE, "failed"),
    ],
)
def test_a_failure_keeps_its_class(outcome: Outcome, ending: str) -> None:
    trial = seen(a_failure(outcome))
    assert (trial.ending, trial.score, trial.message) == (ending, None, "it was too much")


def test_what_was_stopped_or_is_of_no_round_is_no_run() -> None:
    other = msgspec.structs.replace(SPEC, draw=None)
    records = [a_failure(Outcome.INTERRUPTED), a_record(learnt(0.5), spec=other)]
    assert round_trials(a_round(RATE), records) == ()


def test_a_job_of_the_users_own_tells_its_metric_and_its_points() -> None:
    points = (
        JobPoint(step=50, value=7.0, seconds=1.0),
        JobPoint(step=200, value=3.0, seconds=4.0, validation_loss=0.2),
    )
    job = JobResult(value=5.0, points=points, seconds=4.5)
    error = RoundMetric(name="error", higher_is_better=False)
    trial = seen(a_record(job=job), error)
    assert (trial.score, trial.ending, trial.seconds) == (5.0, "ok", 4.5)
    assert [(place.share, place.value, place.loss) for place in trial.curve] == [(0.25, 7.0, None), (1.0, 3.0, 0.2)]
    assert seen(a_record(job=job), RoundMetric(name="error", higher_is_better=False, at="best")).score == 3.0


def test_what_is_better_depends_on_the_metric() -> None:
    assert better(ACCURACY, 0.9, 0.8)
    assert not better(LOSS, 0.9, 0.8)
    assert not better(ACCURACY, 0.8, 0.8)
    assert (sign(ACCURACY), sign(LOSS)) == (1.0, -1.0)


def test_the_best_comes_first_and_what_failed_not_at_all() -> None:
    runs = [a_run(0.2, index=0), a_run(0.9, index=2), a_run(None, index=3, ending="diverged"), a_run(0.9, index=1)]
    assert [each.draw.index for each in best_first(ACCURACY, runs)] == [1, 2, 0]
    assert [each.draw.index for each in best_first(LOSS, runs)] == [0, 1, 2]


def test_runs_of_the_gate_and_of_a_proof_are_no_tuning() -> None:
    runs = [a_run(0.9, phase=phase) for phase in ("gate", "search", "exploit", "confirm")]
    assert [each.draw.phase for each in tuning(runs)] == ["exploit", "search"]
