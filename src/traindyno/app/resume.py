"""Finishing a study that was cut off, without repeating a finished trial."""

from dataclasses import replace
from pathlib import Path

import msgspec

from traindyno.app.accuracy import accuracy
from traindyno.app.anatomy import anatomy
from traindyno.app.context import Context
from traindyno.app.find import find
from traindyno.app.loader import loader
from traindyno.app.max_batch import max_batch
from traindyno.app.noise_scale import noise_scale
from traindyno.app.plan import plan
from traindyno.app.rounds.run import run_round
from traindyno.app.scale import scale
from traindyno.app.soak import soak
from traindyno.app.sources import NamedAgain, moved_code
from traindyno.app.stalls import stalls
from traindyno.app.switches import switches
from traindyno.app.target import target
from traindyno.app.throughput import throughput
from traindyno.app.train import train
from traindyno.app.verify import verify
from traindyno.core.answers import Document
from traindyno.core.errors import UsageError
from traindyno.core.requests import (
    AccuracyRequest,
    AdoptRequest,
    AnatomyRequest,
    FindRequest,
    LoaderRequest,
    MaxBatchRequest,
    NoiseScaleRequest,
    PlanRequest,
    Request,
    RoundRequest,
    ScaleRequest,
    SoakRequest,
    StallsRequest,
    SwitchesRequest,
    TargetRequest,
    ThroughputRequest,
    TrainRequest,
    VerifyRequest,
    workloads_of,
)
from traindyno.store.ledger import Ledger


def resume(
    name: str,
    context: Context,
    named_again: NamedAgain = (),
    *,
    time_budget_seconds: float | None = None,
    settings_path: Path | None = None,
    address: str | None = None,
    elsewhere: bool = False,
) -> Document:
    """Ask the study's own request again. Code from a file runs only if the user names that file now.

    `time_budget_seconds` is what the rest may take, instead of the study's own budget. `settings_path` is where the
    settings that `find` recommends are exported to. `address` is where the study's Ray cluster is now. With
    `elsewhere` this may be another machine of the same kind.
    """
    with Ledger.open(context.store, create=False) as ledger:
        row = ledger.study(name)
    if settings_path is not None and not isinstance(row.request, FindRequest):
        raise UsageError(
            f"study {name!r} is one of `{row.command}` and recommends no settings that a file could hold",
            "leave --export-toml away",
        )
    moved = moved_code(workloads_of(row.request), named_again)
    context = replace(context, resume=name, moved=moved, time_budget_seconds=time_budget_seconds, elsewhere=elsewhere)
    request = row.request if time_budget_seconds is None else _within(row.request, time_budget_seconds)
    request = request if address is None else _over(request, address)
    return _asked_again(request, context, named_again, settings_path)


def _within(request: Request, time_budget_seconds: float) -> Request:
    """The request with another time budget."""
    if isinstance(request, PlanRequest):
        if request.curve is None:
            raise UsageError("this study measures nothing that a time budget could bound", "leave --time-budget away")
        bench = msgspec.structs.replace(request.curve.bench, time_budget_seconds=time_budget_seconds)
        return msgspec.structs.replace(request, curve=msgspec.structs.replace(request.curve, bench=bench))
    bench = msgspec.structs.replace(request.bench, time_budget_seconds=time_budget_seconds)
    return msgspec.structs.replace(request, bench=bench)


def _over(request: Request, address: str) -> Request:
    """The request over the same Ray cluster at another address."""
    if isinstance(request, PlanRequest):
        curve = request.curve
        return request if curve is None else msgspec.structs.replace(request, curve=_over(curve, address))
    if request.bench.executor != "ray":
        raise UsageError("--address names a Ray cluster, and this study runs on one machine", "leave --address away")
    return msgspec.structs.replace(request, bench=msgspec.structs.replace(request.bench, address=address))


def _asked_again(request: Request, context: Context, named_again: NamedAgain, settings_path: Path | None) -> Document:
    match request:
        case MaxBatchRequest():
            return max_batch(request, context)
        case ThroughputRequest():
            return throughput(request, context)
        case PlanRequest():
            return plan(request, context, named_again)
        case LoaderRequest():
            return loader(request, context)
        case StallsRequest():
            return stalls(request, context)
        case SwitchesRequest():
            return switches(request, context)
        case AnatomyRequest():
            return anatomy(request, context)
        case SoakRequest():
            return soak(request, context)
        case FindRequest():
            return find(request, context, settings_path)
        case VerifyRequest():
            return verify(request, context)
        case TrainRequest():
            return train(request, context)
        case AccuracyRequest():
            return accuracy(request, context)
        case NoiseScaleRequest():
            return noise_scale(request, context)
        case TargetRequest():
            return target(request, context)
        case ScaleRequest():
            return scale(request, context)
        case RoundRequest():
            return run_round(request, context)
        case AdoptRequest():
            # It needs scipy, which other studies do without.
            from traindyno.app.rounds.adopt import adopt

            return adopt(request, context)
