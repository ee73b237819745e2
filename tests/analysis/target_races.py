"""Made-up runs to a target: told when they cross, they give the records that real ones would."""

import math

import msgspec

from traindyno.analysis.target import conclude_target
from traindyno.analysis.target_settling import batch_contender, run_specs
from traindyno.core.answers import TargetAnswer
from traindyno.core.learning import Evaluation, Learning, Recipe, Target
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, TargetRequest

EXAMPLES, EVERY, EPOCHS = 1000, 100, 4.0
MISS = math.inf
SETTINGS = Settings(batch_size=10)
TEMPLATE = TrialSpec(kind="fit", workload=WorkloadSpec(model="mlp:64", data="digits:"), settings=SETTINGS)


def request_of(*sizes: int, **changes: object) -> TargetRequest:
    """Batch sizes at one rate, evaluated every hundred examples."""
    request = TargetRequest(
        workload=TEMPLATE.workload,
        bench=Bench(),
        recipe=Recipe(learning_rate=0.1, epochs=EPOCHS, evaluation_examples=EVERY),
        target=Target(metric="accuracy", value=0.9),
        contenders=tuple(batch_contender(SETTINGS, size) for size in sizes),
        rule="none",
        reference_batch=10,
        settings=SETTINGS,
    )
    return msgspec.structs.replace(request, **changes)


def run_of(
    spec: TrialSpec, crossing: float, example_seconds: float = 0.01, *, diverged: bool = False, best: float = 0.95
) -> TrialRecord:
    """A run that first meets the target at the evaluation with `crossing` examples behind it, and goes on meeting it.

    Evaluations take a hundred times as long as training: whoever counts them would be told another order.
    """
    assert spec.recipe is not None
    every, size = spec.recipe.evaluation_examples or EXAMPLES, spec.settings.batch_size
    last = min(crossing + every, spec.recipe.epochs * EXAMPLES)
    marks = [number * every for number in range(1, math.floor(last / every) + 1)]
    evaluations = tuple(
        _evaluation(math.ceil(mark / size), size, example_seconds, mark >= crossing, best) for mark in marks
    )
    reached = next((each for each in evaluations if each.accuracy and each.accuracy >= 0.9), None)
    learning = Learning(
        evaluations=evaluations,
        steps=evaluations[-1].step,
        planned_steps=round(spec.recipe.epochs * EXAMPLES / size),
        examples=evaluations[-1].examples,
        seconds=evaluations[-1].seconds,
        evaluation_seconds=100 * evaluations[-1].seconds,
        training_examples=EXAMPLES,
        evaluation_examples=200,
        reached=reached,
        diverged=diverged,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0, measurement=_measurement(spec, learning))


def without_accuracy(record: TrialRecord) -> TrialRecord:
    """The same run of a model whose outputs are no classes."""
    assert record.measurement is not None
    assert record.measurement.learning is not None
    learning = record.measurement.learning
    blind = tuple(msgspec.structs.replace(each, accuracy=None) for each in learning.evaluations)
    learning = msgspec.structs.replace(learning, evaluations=blind, reached=None)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, learning=learning))


def never_finite(record: TrialRecord) -> TrialRecord:
    """The same run with a loss that was no number from the first step on."""
    assert record.measurement is not None
    assert record.measurement.learning is not None
    learning = record.measurement.learning
    lost = tuple(msgspec.structs.replace(each, loss=math.nan, training_loss=math.nan) for each in learning.evaluations)
    learning = msgspec.structs.replace(learning, evaluations=lost, began_finite=False)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, learning=learning))


def failed(spec: TrialSpec, outcome: Outcome = Outcome.OUT_OF_DEVICE_MEMORY) -> TrialRecord:
    failure = Failure(outcome=outcome, message="it is full", remedy="use less")
    return TrialRecord(spec=spec, outcome=outcome, seconds=1.0, failure=failure)


def race(
    request: TargetRequest, crossings: dict[str, list[float]], example_seconds: dict[str, float] | None = None
) -> TargetAnswer:
    """The answer when the runs of each contender cross at these examples, seed by seed."""
    records = []
    for label, specs in run_specs(request, TEMPLATE, []).items():
        speed = (example_seconds or {}).get(label, 0.01)
        records += [run_of(spec, at, speed) for spec, at in zip(specs, crossings[label], strict=False)]
    return concluded(request, records)


def concluded(request: TargetRequest, records: list[TrialRecord]) -> TargetAnswer:
    return conclude_target(request, TEMPLATE, records, data=request.workload.data, seconds=1.0, simulated=False)


def _evaluation(step: int, size: int, example_seconds: float, met: bool, best: float) -> Evaluation:
    examples = step * size
    return Evaluation(
        step=step,
        examples=examples,
        seconds=examples * example_seconds,
        loss=0.1 if met else 1.0,
        accuracy=best if met else 0.8,
        training_loss=0.5,
        learning_rate=0.1,
    )


def _measurement(spec: TrialSpec, learning: Learning) -> Measurement:
    step_seconds = learning.seconds / learning.steps
    return Measurement(
        batch_size=spec.settings.batch_size,
        steps=learning.steps,
        step_seconds=step_seconds,
        ci95=(step_seconds, step_seconds),
        steady=True,
        blocks=(),
        memory=Memory(peak_bytes=1),
        start_up_seconds=0.0,
        first_step_seconds=0.0,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        learning=learning,
    )
