"""What to type after an anatomy: the command that looks into what was found to be the limit."""

import msgspec

from traindyno.analysis.anatomy_bounds import DATA, TRANSFER
from traindyno.analysis.commands import SYNTHETIC, device_words, settings_words, workload_words
from traindyno.core.answers import AnatomyAnswer
from traindyno.core.requests import AnatomyRequest, ScaleRequest, SoakRequest


def next_command(request: AnatomyRequest, answer: AnatomyAnswer) -> list[str]:
    """Data is for `loader`, unpinned transfers for this command again, the step itself for `switches`."""
    settings = msgspec.structs.replace(request.settings, batch_size=answer.batch_size)
    size = ["--batch-size", str(answer.batch_size)]
    if answer.bound == DATA:
        return ["traindyno", "loader", *_workload(request), *size]
    if answer.bound == TRANSFER and not settings.pin_memory:
        pinned = msgspec.structs.replace(settings, pin_memory=True)
        return ["traindyno", "anatomy", *_workload(request), *size, *settings_words(pinned), *feeding_words(request)]
    if answer.bound == TRANSFER and request.from_loader:
        return ["traindyno", "stalls", *_workload(request), *size, *settings_words(settings, always_workers=True)]
    return ["traindyno", "switches", *_workload(request), *size, *settings_words(settings)]


def _workload(request: AnatomyRequest) -> list[str]:
    return [*workload_words(request.workload, request.bench), *device_words(request.bench)]


def feeding_words(request: AnatomyRequest | SoakRequest | ScaleRequest) -> list[str]:
    """Only what is not the default: named data is loaded."""
    if request.from_loader == (request.workload.data != SYNTHETIC):
        return []
    return ["--from-loader" if request.from_loader else "--no-from-loader"]
