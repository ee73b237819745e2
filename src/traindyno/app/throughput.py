"""Where throughput saturates."""

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.probes import examples_in_data
from traindyno.analysis.throughput import conclude_throughput
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, ThroughputAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.records import Budget
from traindyno.core.requests import ThroughputRequest
from traindyno.search.throughput import ThroughputSweep


def throughput(request: ThroughputRequest, context: Context) -> Document:
    """Measure the curve and choose from it."""
    with open_workshop(request.bench, context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        title = f"throughput of {request.workload.model} ({request.workload.mode}) on {workshop.bench.device}"
        with open_study(workshop, context, request, title) as study:
            answer = measure_curve(study, request)
            examples = examples_in_data(study.records) or "N"
            hint = f"traindyno plan --from {study.row.name} --examples {examples} --epochs E{study.store_option}"
            return finished_document(study, request, answer, cautions(study.records), hint)


def measure_curve(study: Study, request: ThroughputRequest, evaluate: bool = False) -> ThroughputAnswer:
    """Drive the sweep; at least one size must have been measured."""
    template = msgspec.structs.replace(
        first_spec(study.workshop, request.workload),
        kind="speed",
        budget=Budget(seconds=request.trial_seconds),
        evaluate=evaluate,
    )
    sweep = ThroughputSweep(
        template,
        sizes=request.sizes,
        smallest=request.smallest,
        largest=request.largest,
        refine=request.refine,
        repeats=request.repeats,
        seed=request.bench.seed,
    )
    history = study.drive(sweep, lambda record: record.spec.kind == "speed")
    if not any(record.ok for record in history):
        raise _nothing_measured(study)
    return conclude_throughput(
        request.workload.model,
        request.workload.mode,
        history,
        choose=request.choose,
        margin=request.margin,
        seconds=study.seconds,
        simulated=study.workshop.runner.simulated,
    )


def _nothing_measured(study: Study) -> TraindynoError:
    if (cut := study.cut_before("size was measured")) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    return NothingMeasuredError(f"no batch size could be measured: {failures[-1].message}", failures[-1].remedy)
