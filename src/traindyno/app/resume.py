"""Finishing a study that was cut off, without repeating a finished trial."""

from dataclasses import replace

from traindyno.app.context import Context
from traindyno.app.max_batch import max_batch
from traindyno.app.plan import plan
from traindyno.app.throughput import throughput
from traindyno.core.answers import Document
from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.core.requests import Bench, MaxBatchRequest, PlanRequest, Request, ThroughputRequest
from traindyno.store.ledger import Ledger


def resume(name: str, context: Context, named_again: tuple[tuple[str, str | None], ...] = ()) -> Document:
    """Ask the study's own request again. Code from a file runs only if the user names that file now."""
    with Ledger.open(context.store, create=False) as ledger:
        row = ledger.study(name)
    _check_named_again(row.request, dict(named_again))
    context = replace(context, resume=name)
    match row.request:
        case MaxBatchRequest():
            return max_batch(row.request, context)
        case ThroughputRequest():
            return throughput(row.request, context)
        case PlanRequest():
            return plan(row.request, context)


def workloads_of(request: Request) -> tuple[WorkloadSpec, ...]:
    match request:
        case MaxBatchRequest():
            return request.workloads
        case ThroughputRequest():
            return (request.workload,)
        case PlanRequest():
            return () if request.curve is None else (request.curve.workload,)


def bench_of(request: Request) -> Bench | None:
    match request:
        case PlanRequest():
            return None if request.curve is None else request.curve.bench
        case _:
            return request.bench


def _check_named_again(request: Request, given: dict[str, str | None]) -> None:
    for workload in workloads_of(request):
        if not workload.runs_user_code:
            continue
        if workload.model not in given:
            raise UsageError(
                f"this study runs code from {workload.model}, which must be named again",
                f"add --model {workload.model}",
            )
        if given[workload.model] != workload.source_sha256:
            raise UsageError(
                f"{workload.model} has changed since the study began",
                "begin a new study; trials of two versions cannot be mixed",
            )
