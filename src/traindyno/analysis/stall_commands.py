"""The commands that try a remedy, ready to be typed."""

import shlex

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import StallsRequest

_SYNTHETIC = "synthetic:"


def stalls_command(request: StallsRequest, settings: Settings, data: str | None = None) -> str:
    """The same study with other settings or another source."""
    words = ["stalls", *_workload(request.workload, data), *_bench(request)]
    words += ["--batch-size", str(settings.batch_size), "--workers", str(settings.num_workers)]
    if settings.prefetch_factor != 2:
        words += ["--prefetch-factor", str(settings.prefetch_factor)]
    if settings.pin_memory:
        words.append("--pin-memory")
    if settings.decoder != "pil":
        words += ["--decoder", settings.decoder]
    return shlex.join(["traindyno", *words])


def throughput_command(request: StallsRequest) -> str:
    """The curve over batch sizes."""
    return shlex.join(["traindyno", "throughput", *_workload(request.workload, _SYNTHETIC), *_bench(request)])


def prepare_command(request: StallsRequest) -> str:
    """Prepare the study's data beside where one stands."""
    return shlex.join(["traindyno", "data", "prepare", request.workload.data, "prepared"])


def _workload(workload: WorkloadSpec, data: str | None) -> list[str]:
    words = ["--model", workload.model]
    source = data if data is not None else workload.data
    if source != _SYNTHETIC:
        words += ["--data", source]
    if workload.mode != "train":
        words += ["--mode", workload.mode]
    if workload.image_size is not None:
        words += ["--image-size", str(workload.image_size)]
    if workload.classes is not None:
        words += ["--classes", str(workload.classes)]
    if workload.optimizer != "sgd":
        words += ["--optimizer", workload.optimizer]
    return words


def _bench(request: StallsRequest) -> list[str]:
    words = ["--device", request.bench.device] if request.bench.device != "auto" else []
    return [*words, "--precision", request.bench.precision] if request.bench.precision != "fp32" else words
