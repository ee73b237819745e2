"""Finishing a study that was cut off, without repeating a finished trial."""

from dataclasses import replace

from traindyno.app.anatomy import anatomy
from traindyno.app.context import Context
from traindyno.app.find import find
from traindyno.app.loader import loader
from traindyno.app.max_batch import max_batch
from traindyno.app.plan import plan
from traindyno.app.soak import soak
from traindyno.app.sources import NamedAgain, check_named_again
from traindyno.app.stalls import stalls
from traindyno.app.switches import switches
from traindyno.app.throughput import throughput
from traindyno.app.verify import verify
from traindyno.core.answers import Document
from traindyno.core.requests import (
    AnatomyRequest,
    FindRequest,
    LoaderRequest,
    MaxBatchRequest,
    PlanRequest,
    SoakRequest,
    StallsRequest,
    SwitchesRequest,
    ThroughputRequest,
    VerifyRequest,
    workloads_of,
)
from traindyno.store.ledger import Ledger


def resume(name: str, context: Context, named_again: NamedAgain = ()) -> Document:
    """Ask the study's own request again. Code from a file runs only if the user names that file now."""
    with Ledger.open(context.store, create=False) as ledger:
        row = ledger.study(name)
    for workload in workloads_of(row.request):
        check_named_again(workload, named_again)
    context = replace(context, resume=name)
    match row.request:
        case MaxBatchRequest():
            return max_batch(row.request, context)
        case ThroughputRequest():
            return throughput(row.request, context)
        case PlanRequest():
            return plan(row.request, context, named_again)
        case LoaderRequest():
            return loader(row.request, context)
        case StallsRequest():
            return stalls(row.request, context)
        case SwitchesRequest():
            return switches(row.request, context)
        case AnatomyRequest():
            return anatomy(row.request, context)
        case SoakRequest():
            return soak(row.request, context)
        case FindRequest():
            return find(row.request, context)
        case VerifyRequest():
            return verify(row.request, context)
