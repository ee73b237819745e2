"""How large a batch fits."""

import shlex

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import device_words, workload_words
from traindyno.analysis.max_batch import conclude_max_batch
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, MaxBatchAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.records import TrialRecord, WorkloadSpec
from traindyno.core.requests import MaxBatchRequest
from traindyno.search.max_batch import MaxBatchSearch


def max_batch(request: MaxBatchRequest, context: Context) -> Document:
    """Search for every workload in turn and conclude with what there is, also when cut short."""
    with open_workshop(request.bench, context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        title = f"largest batch of {', '.join(workload.model for workload in request.workloads)}"
        with open_study(workshop, context, request, title) as study:
            answers = tuple(
                answer for workload in request.workloads if (answer := _one_model(study, request, workload)) is not None
            )
            if not any(answer.max_batch is not None for answer in answers):
                raise _nothing_fits(study)
            whole = answers[0] if len(request.workloads) == 1 else answers
            words = [*workload_words(request.workloads[0], workshop.asked), *device_words(workshop.asked)]
            hint = f"{shlex.join(['traindyno', 'throughput', *words])}{study.store_option}"
            return finished_document(study, request, whole, cautions(study.records), hint)


def _one_model(study: Study, request: MaxBatchRequest, workload: WorkloadSpec) -> MaxBatchAnswer | None:
    template = first_spec(study.workshop, workload)
    search = MaxBatchSearch(
        template,
        tolerance=request.tolerance,
        exact=request.exact,
        limit=request.limit,
        margin=request.margin,
    )

    def belongs(record: TrialRecord) -> bool:
        return record.spec.workload == workload

    before = study.seconds
    earlier = sum(record.seconds for record in study.records if belongs(record))
    history = study.drive(search, belongs)
    if not history:
        return None
    return conclude_max_batch(
        workload.model,
        workload.mode,
        history,
        margin=request.margin,
        tolerance=0.0 if request.exact else request.tolerance,
        limit=request.limit,
        effective_batch=request.effective_batch,
        seconds=earlier + study.seconds - before,
        simulated=study.workshop.runner.simulated,
    )


def _nothing_fits(study: Study) -> TraindynoError:
    if (cut := study.cut_before("batch had run")) is not None:
        return cut
    smallest = min(study.records, key=lambda record: record.batch_size)
    assert smallest.failure is not None
    return NothingMeasuredError(
        f"not even a batch of {smallest.batch_size} runs: {smallest.failure.message}", smallest.failure.remedy
    )
