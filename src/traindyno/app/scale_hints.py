"""What to type after a study of scaling."""

import shlex

import msgspec

from traindyno.analysis.commands import device_words, workload_words
from traindyno.app.loader_workload import has_data
from traindyno.core.answers import ScaleAnswer, ScaleRow
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.report.reproduce import request_command

MUCH_COMMUNICATION = 0.1
BUCKETS_MIB = (USUAL_BUCKET_MIB, 5.0, 100.0)
ACCUMULATIONS = (1, 4)


def scale_hint(request: ScaleRequest, answer: ScaleAnswer, asked: Bench) -> str:
    """Less communication, where there is much; else whether the larger batch learns; else how long training takes."""
    request = msgspec.structs.replace(request, bench=msgspec.structs.replace(asked, time_budget_seconds=None))
    if (again := _with_less_communication(request, answer)) is not None:
        return request_command(again)
    chosen = None if answer.recommended is None else answer.rows[answer.recommended]
    if chosen is not None and chosen.devices > 1 and has_data(request.workload):
        return shlex.join(_accuracy(request, chosen))
    return shlex.join(_plan(request, chosen))


def _with_less_communication(request: ScaleRequest, answer: ScaleAnswer) -> ScaleRequest | None:
    """The same with other buckets and with accumulation, if neither was tried; null where little is lost to it."""
    most = [row for row in answer.rows if row.devices == max(request.devices)]
    tried = len(request.bucket_mib) > 1 or len(request.accumulations) > 1
    if tried or not any(_much_communication(row) for row in most):
        return None
    return msgspec.structs.replace(request, bucket_mib=BUCKETS_MIB, accumulations=_accumulations(request))


def _much_communication(row: ScaleRow) -> bool:
    """Beyond chance."""
    shown = row.communication_share_ci95 is not None and row.communication_share_ci95[0] > 0
    return shown and (row.communication_share or 0.0) >= MUCH_COMMUNICATION


def _accumulations(request: ScaleRequest) -> tuple[int, ...]:
    """Only those that divide a batch of a device."""
    most = max(request.devices)
    own = (*request.batches_per_device, *(batch // most for batch in request.global_batches if batch % most == 0))
    return tuple(parts for parts in ACCUMULATIONS if any(batch % parts == 0 for batch in own)) or (1,)


def _accuracy(request: ScaleRequest, chosen: ScaleRow) -> list[str]:
    """Whether the batch of all devices learns as well as that of one."""
    sizes = sorted({chosen.batch_per_device, chosen.batch_size})
    rate = "RATE" if request.learning_rate is None else f"{request.learning_rate:.12g}"
    of = sizes[0] if request.rate_batch is None else request.rate_batch
    words = [*workload_words(request.workload, request.bench), *device_words(request.bench)]
    return [
        "traindyno", "accuracy", *words, "--batch-size", ",".join(map(str, sizes)), "--lr", f"{rate}@{of}",
        "--epochs", "E",
    ]  # fmt: skip


def _plan(request: ScaleRequest, chosen: ScaleRow | None) -> list[str]:
    """Time and cost at every batch of one device."""
    size = [] if chosen is None else ["--batch-size", f"1..{chosen.batch_per_device}"]
    words = [*workload_words(request.workload, request.bench), *device_words(request.bench), *size]
    epochs = "E" if request.epochs is None else f"{request.epochs:.12g}"
    length = ["--examples", str(request.examples or "N"), "--epochs", epochs]
    return ["traindyno", "plan", *words, *length]
