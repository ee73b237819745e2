"""The records of a round as conclusions see them: what each run was for, how it ended, its score and its curve."""

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from traindyno.analysis.training import never_finite
from traindyno.core.learning import Evaluation, Learning
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.rounds import CurvePlace, Draw, Ending, JobResult, Round, RoundMetric, RoundTrial

_ENDINGS: dict[Outcome, Ending] = {
    Outcome.OUT_OF_DEVICE_MEMORY: "out_of_memory",
    Outcome.OUT_OF_HOST_MEMORY: "out_of_memory",
    Outcome.OUT_OF_SHARED_MEMORY: "out_of_memory",
    Outcome.TIMEOUT: "timed_out",
    Outcome.HANG: "timed_out",
    Outcome.CRASH: "crashed",
    Outcome.CUDA_FAULT: "crashed",
    Outcome.KILLED: "crashed",
    Outcome.NONFINITE: "diverged",
}


def sign(metric: RoundMetric) -> float:
    """What a score is multiplied by so that more is better."""
    return 1.0 if metric.higher_is_better else -1.0


def better(metric: RoundMetric, first: float, second: float) -> bool:
    """Whether the first of two scores is better than the second."""
    return sign(metric) * first > sign(metric) * second


def best_first(metric: RoundMetric, trials: Iterable[RoundTrial]) -> list[RoundTrial]:
    """The runs that have a score, the best before the others; of equals, the one that was drawn first."""
    scored = [(sign(metric) * trial.score, trial) for trial in trials if trial.feasible and trial.score is not None]
    return [trial for _, trial in sorted(scored, key=lambda pair: (-pair[0], pair[1].draw.slot))]


def tuning(trials: Iterable[RoundTrial]) -> list[RoundTrial]:
    """The runs of the search, plain or not, in the order of their draws; the gate's are none of them."""
    return sorted(
        (each for each in trials if each.draw.phase in ("search", "exploit")), key=lambda each: each.draw.slot
    )


def round_trials(round: Round, records: Sequence[TrialRecord]) -> tuple[RoundTrial, ...]:
    """Every run that came to an end, whichever. `seconds` of a run without a measurement are those it took in all.

    Machines of several kinds are not compared by their speed.
    """
    trials = tuple(
        _trial(round.metric, record, record.spec.draw)
        for record in records
        if record.spec.draw is not None and record.outcome is not Outcome.INTERRUPTED
    )
    if _of_one_kind(records):
        return trials
    return tuple(msgspec.structs.replace(trial, examples_per_second=None) for trial in trials)


def timed_alone(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those whose times can be compared: no other run shared the machine, and all machines are of one kind."""
    return [record for record in records if not record.conditions.runs_beside] if _of_one_kind(records) else []


def _of_one_kind(records: Sequence[TrialRecord]) -> bool:
    return len({record.conditions.machine_kind for record in records if record.ok}) < 2


def _trial(metric: RoundMetric, record: TrialRecord, draw: Draw) -> RoundTrial:
    measurement = record.measurement
    if record.ok and measurement is not None and measurement.learning is not None:
        return _learnt(metric, record, draw, measurement.learning)
    if record.ok and measurement is not None and measurement.job is not None:
        return _done(metric, record, draw, measurement.job)
    return RoundTrial(
        draw=draw,
        ending=_ENDINGS.get(record.outcome, "failed"),
        score=None,
        seed=record.spec.seed,
        seconds=record.seconds,
        message=None if record.failure is None else record.failure.message,
    )


def _learnt(metric: RoundMetric, record: TrialRecord, draw: Draw, learning: Learning) -> RoundTrial:
    curve = tuple(_places(metric, learning))
    score = _score(metric, [place.value for place in curve])
    has_diverged = learning.diverged or (score is not None and not math.isfinite(score))
    ending: Ending = "diverged" if has_diverged else "pruned" if learning.pruned else "ok"
    return RoundTrial(
        draw=draw,
        ending=ending,
        score=None if has_diverged else score,
        curve=curve,
        seed=record.spec.seed,
        seconds=learning.seconds,
        examples_per_second=None if record.conditions.runs_beside else _pace(learning),
        classes=learning.classes,
        evaluation_examples=learning.evaluation_examples,
        message=None if score is not None or has_diverged else f"the run has no {metric.name}",
        never_finite=never_finite(learning),
    )


def _pace(learning: Learning) -> float | None:
    return learning.examples / learning.seconds if learning.seconds > 0 else None


def _places(metric: RoundMetric, learning: Learning) -> Iterator[CurvePlace]:
    for each in learning.evaluations:
        value = _value(metric, each)
        if value is not None:
            share = each.step / max(learning.planned_steps, each.step, 1)
            yield CurvePlace(share=share, value=value, loss=each.loss, training_loss=each.training_loss)


def _value(metric: RoundMetric, evaluation: Evaluation) -> float | None:
    return evaluation.loss if metric.name == "loss" else evaluation.accuracy


def _done(metric: RoundMetric, record: TrialRecord, draw: Draw, job: JobResult) -> RoundTrial:
    """A job that returns several figures has the metric's own among them, or else first."""
    end = job.others.get(metric.name, job.value)
    score = _score(metric, [*(point.value for point in job.points), end])
    is_number = score is not None and math.isfinite(score) and math.isfinite(end)
    last = max((point.step for point in job.points), default=0)
    return RoundTrial(
        draw=draw,
        ending="ok" if is_number else "diverged",
        score=score if is_number else None,
        curve=tuple(
            CurvePlace(
                share=point.step / last if last > 0 else 1.0,
                value=point.value,
                loss=point.validation_loss,
                training_loss=point.training_loss,
            )
            for point in job.points
        ),
        seed=record.spec.seed,
        seconds=job.seconds,
    )


def _score(metric: RoundMetric, values: Sequence[float]) -> float | None:
    """The last value, or the best number among them if the round counts that."""
    if not values or metric.at == "end":
        return values[-1] if values else None
    numbers = [value for value in values if math.isfinite(value)]
    return max(numbers, key=lambda value: sign(metric) * value, default=math.nan)
