"""How long training takes, from a measured curve; and, on request, whether that was true."""

import math

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.plan import TrainingJob, conclude_plan, evaluated_examples
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.library import read_document
from traindyno.app.sources import NamedAgain, check_named_again
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.throughput import measure_curve
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, PlanAnswer, ThroughputAnswer, Validation
from traindyno.core.codec import plain
from traindyno.core.errors import UsageError
from traindyno.core.records import Budget, TrialRecord, WorkloadSpec
from traindyno.core.requests import Bench, CurveSource, PlanRequest, ThroughputRequest
from traindyno.search.once import Once


def plan(request: PlanRequest, context: Context, named_again: NamedAgain = ()) -> Document:
    """Take the curve from an earlier study or measure it now, multiply out, and validate if asked.

    Validating the curve of a study that ran code from a file needs that file in `named_again`.
    """
    curve, found = _earlier_curve(request, context)
    request = msgspec.structs.replace(request, source=found)
    source = None if found is None else found.request
    margin = (source or _own(request)).margin
    if curve is not None and found is not None and not request.validate:
        answer = _multiply_out(request, curve, margin, 0.0)
        return _unkept(request, answer, found)
    bench = _own(request).bench if source is None else _bench_of_validation(source, named_again)
    with open_workshop(bench, context.store) as workshop:
        if source is None:
            own = msgspec.structs.replace(_own(request), bench=workshop.bench)
            request = msgspec.structs.replace(request, curve=own)
        with open_study(workshop, context, request, "training time") as study:
            if curve is None:
                curve = measure_curve(study, _own(request), evaluate=_evaluates(request))
            answer = _multiply_out(request, curve, margin, study.seconds)
            if request.validate and study.cut is None:
                workload = source.workload if source is not None else _own(request).workload
                answer = _validate(study, request, workload, answer)
            return finished_document(study, request, answer, cautions(study.records), None)


def _unkept(request: PlanRequest, answer: PlanAnswer, source: CurveSource) -> Document:
    """Nothing was measured, so the machine is the one behind the curve."""
    return Document(
        command="plan", study=None, answer=answer, machine=source.machine, request=plain(request), state="done"
    )


def _bench_of_validation(source: ThroughputRequest, named_again: NamedAgain) -> Bench:
    """Where the curve was measured, without its time budget. Code that only a record names is not run."""
    check_named_again(source.workload, named_again)
    return msgspec.structs.replace(source.bench, time_budget_seconds=None)


def _evaluates(request: PlanRequest) -> bool:
    return request.eval_every_epochs is not None or request.eval_examples is not None


def _own(request: PlanRequest) -> ThroughputRequest:
    assert request.curve is not None, "a plan has a curve to measure or a study to take it from"
    return request.curve


def _earlier_curve(request: PlanRequest, context: Context) -> tuple[ThroughputAnswer, CurveSource] | tuple[None, None]:
    if request.from_study is None:
        return None, None
    document = read_document(request.from_study, context.store)
    if not isinstance(document.answer, ThroughputAnswer):
        raise UsageError(
            f"study {request.from_study!r} is one of `{document.command}` and has no throughput curve",
            "measure one with `traindyno throughput`",
        )
    assert document.request is not None
    asked = msgspec.convert(document.request, ThroughputRequest)
    return document.answer, CurveSource(request=asked, machine=document.machine)


def _multiply_out(request: PlanRequest, curve: ThroughputAnswer, margin: float, seconds: float) -> PlanAnswer:
    """The analysis of a plan, from the curve's points and the job the request describes."""
    job = TrainingJob(
        examples=request.examples,
        epochs=request.epochs,
        eval_every_epochs=request.eval_every_epochs,
        eval_examples=evaluated_examples(request.examples, request.eval_every_epochs, request.eval_examples),
        price_per_hour=request.price_per_hour,
    )
    return conclude_plan(
        curve.curve,
        job,
        start_up_seconds=curve.start_up_seconds or 0.0,
        evaluation_step_seconds=_evaluation_steps(curve),
        margin=margin,
        from_study=request.from_study,
        seconds=seconds,
        simulated=curve.simulated,
    )


def _evaluation_steps(curve: ThroughputAnswer) -> dict[int, float]:
    measured = ((point.batch_size, point.evaluation_step_seconds) for point in curve.curve)
    return {size: seconds for size, seconds in measured if seconds is not None}


def _validate(study: Study, request: PlanRequest, workload: WorkloadSpec, answer: PlanAnswer) -> PlanAnswer:
    """Train at the fastest batch for a minute or an epoch, whichever is longer, and compare."""
    row = next(row for row in answer.rows if row.batch_size == answer.fastest)
    epoch = math.ceil(request.examples / row.batch_size)
    steps = max(epoch, math.ceil(request.validate_seconds / row.step_seconds))
    template = first_spec(study.workshop, workload)
    spec = msgspec.structs.replace(
        template,
        kind="train",
        settings=msgspec.structs.replace(template.settings, batch_size=row.batch_size),
        budget=Budget(steps=steps),
    )
    history = study.drive(Once(spec, "validate the prediction"), lambda record: record.spec.kind == "train")
    if not history:
        return answer
    answer = msgspec.structs.replace(answer, seconds=study.seconds)
    validation = _compare(history[0], row.start_up_seconds + steps * row.step_seconds, steps)
    if validation is None:
        return msgspec.structs.replace(answer, verdicts=(*answer.verdicts, _not_validated(history[0])))
    return msgspec.structs.replace(answer, validation=validation)


def _not_validated(record: TrialRecord) -> str:
    """The plan stands on the curve alone; a failed run takes nothing away from it but the proof."""
    assert record.failure is not None
    return f"The prediction could not be validated: {record.failure.message}. {record.failure.remedy}"


def _compare(record: TrialRecord, predicted: float, steps: int) -> Validation | None:
    measured = None if record.measurement is None else record.measurement.training_seconds
    if measured is None:
        return None
    return Validation(
        batch_size=record.batch_size,
        steps=steps,
        predicted_seconds=predicted,
        measured_seconds=measured,
        error_percent=100 * (predicted - measured) / measured,
    )
