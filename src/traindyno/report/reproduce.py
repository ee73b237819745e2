"""The command that asks a study's question again, rebuilt from its stored request."""

import shlex
from typing import Any

import msgspec

from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.core.requests import (
    LoaderRequest,
    MaxBatchRequest,
    PlanRequest,
    Request,
    StallsRequest,
    ThroughputRequest,
)

_UNITS = {"_seconds": "s", "_bytes": ""}
_NAMES = {
    "trial_seconds": "trial-seconds",
    "validate_seconds": "validate-for",
    "eval_every_epochs": "eval-every",
    "num_workers": "workers",
}
_UNNAMED = frozenset({"model", "source_sha256"})


def reproduce_command(document: Document) -> str | None:
    """What to type to run the study again; null for answers that measured nothing of their own."""
    try:
        request = msgspec.convert(document.request, Request)
    except msgspec.ValidationError:
        return None
    return shlex.join(["traindyno", *_words(request)])


def _words(request: Request) -> list[str]:
    if isinstance(request, MaxBatchRequest):
        models = [word for workload in request.workloads for word in ("--model", workload.model)]
        shared = _options(request.workloads[0]) if request.workloads else []
        return ["max-batch", *models, *shared, *_options(request.bench), *_options(request)]
    if isinstance(request, PlanRequest):
        curve = [] if request.curve is None else _curve(request.curve)
        source = [] if request.from_study is None else ["--from", request.from_study]
        needed = ["--examples", str(request.examples), "--epochs", f"{request.epochs:.12g}"]
        return [
            "plan",
            *needed,
            *source,
            *curve,
            *_options(request, skip=("from_study", "examples", "epochs")),
        ]
    if isinstance(request, LoaderRequest):
        return ["loader", *_loader(request)]
    if isinstance(request, StallsRequest):
        return ["stalls", *_stalls(request)]
    return ["throughput", *_curve(request)]


def _curve(request: ThroughputRequest) -> list[str]:
    sweep = _sweep(request)
    own = _options(request, skip=("sizes", "largest", "smallest"))
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *sweep, *own]


def _loader(request: LoaderRequest) -> list[str]:
    model = ["--model", request.workload.model] if request.with_model else []
    lists = (("--batch-size", request.sizes or (request.batch_size,)), ("--workers", request.workers))
    spans = [word for name, numbers in (*lists, ("--cpus", request.cpus)) for word in _list(name, numbers)]
    own = _options(request, skip=("batch_size", "with_model"))
    return [*model, *_options(request.workload), *_options(request.bench), *spans, *own]


def _stalls(request: StallsRequest) -> list[str]:
    settings = ["--batch-size", str(request.settings.batch_size)]
    settings += _options(request.settings, skip=("batch_size", "device", "precision"))
    also = [word for source in request.also for word in ("--also", source)]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *settings, *also, *_options(request)]


def _list(name: str, numbers: tuple[int, ...] | None) -> list[str]:
    return [name, ",".join(map(str, numbers))] if numbers else []


def _sweep(request: ThroughputRequest) -> list[str]:
    if request.sizes is not None:
        return ["--batch-size", ",".join(str(size) for size in request.sizes)]
    if (request.smallest, request.largest) == (1, None):
        return []
    return ["--batch-size", f"{request.smallest}..{request.largest or 'max'}"]


def _options(record: Record, skip: tuple[str, ...] = ()) -> list[str]:
    """Every field that is not at its default, as an option of the same name."""
    words: list[str] = []
    for field in msgspec.structs.fields(type(record)):
        value = getattr(record, field.name)
        if field.name in skip or field.name in _UNNAMED or isinstance(value, Record | tuple):
            continue
        if value not in (None, "auto", field.default):
            words += _option(field.name, value)
    return words


def _option(name: str, value: Any) -> list[str]:
    suffix = next((ending for ending in _UNITS if name.endswith(ending)), "")
    flag = _NAMES.get(name) or name.removesuffix(suffix).replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    number = f"{value:.12g}" if isinstance(value, float) else str(value)
    return [f"--{flag}", number + _UNITS.get(suffix, "")]
