"""The commands that try a remedy, ready to be typed."""

import shlex

import msgspec

from traindyno.analysis.commands import SYNTHETIC, device_words, settings_words, workload_words
from traindyno.core.records import Settings
from traindyno.core.requests import StallsRequest

_FIRST_REPEATS = 3
_FIRST_TRIAL_SECONDS = 5.0


def stalls_command(request: StallsRequest, settings: Settings, data: str | None = None) -> str:
    """The same study with other settings or another source."""
    words = ["stalls", *_workload(request, data or request.workload.data)]
    words += ["--batch-size", str(settings.batch_size), *settings_words(settings, always_workers=True)]
    return shlex.join(["traindyno", *words, *_measuring(request)])


def throughput_command(request: StallsRequest) -> str:
    """The curve over batch sizes."""
    workload = msgspec.structs.replace(request.workload, skip_bad=False)
    changed = msgspec.structs.replace(request, workload=workload)
    return shlex.join(["traindyno", "throughput", *_workload(changed, SYNTHETIC)])


def prepare_command(request: StallsRequest) -> str:
    """Prepare the study's data beside where one stands."""
    skipping = ["--skip-bad"] if request.workload.skip_bad else []
    return shlex.join(["traindyno", "data", "prepare", request.workload.data, "prepared", *skipping])


def _workload(request: StallsRequest, data: str) -> list[str]:
    workload = msgspec.structs.replace(request.workload, data=data)
    return [*workload_words(workload, request.bench), *device_words(request.bench)]


def _measuring(request: StallsRequest) -> list[str]:
    """How long and how often, so that the two studies can be compared."""
    words = [] if request.cold else ["--no-cold"]
    if request.repeats != _FIRST_REPEATS:
        words += ["--repeats", str(request.repeats)]
    if request.trial_seconds != _FIRST_TRIAL_SECONDS:
        words += ["--trial-seconds", f"{request.trial_seconds:g}s"]
    return [*words, "--local-ranks", str(request.local_ranks)] if request.local_ranks != 1 else words
