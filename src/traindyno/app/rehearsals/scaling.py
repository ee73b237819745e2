"""Dry run of `scale`."""

from traindyno.app.rehearsals.telling import rehearsal, template
from traindyno.app.scale import devices_words, scale_sweep
from traindyno.app.scale_checks import check_scale, settled_scale
from traindyno.app.trial_costs import expected_trials, longest_trial_seconds
from traindyno.app.workshop import settle
from traindyno.core.answers import Rehearsal
from traindyno.core.requests import ScaleRequest
from traindyno.core.units import count_of
from traindyno.machine.gpu import open_reader

GROUP_START_SECONDS = 10.0
"""Until all processes of a group have imported torch and found each other."""


def rehearse_scale(request: ScaleRequest) -> Rehearsal:
    """Every point in rounds of fresh groups of processes."""
    check_scale(request)
    reader = open_reader()
    try:
        request = settled_scale(request, settle(request.bench, reader), len(reader.gpus()))
    finally:
        reader.close()
    sweep, left_out = scale_sweep(request, template(request.bench, request.workload, "scale"))
    batches = (("per device", request.batches_per_device), ("of all devices", request.global_batches))
    lines = [
        f"model: {request.workload.model}, {devices_words(request)}",
        *(f"batch {what}: {', '.join(map(str, sizes))}" for what, sizes in batches if sizes),
        *left_out,
        f"each in {count_of(request.repeats, 'fresh group')} of processes",
    ]
    seconds = GROUP_START_SECONDS + longest_trial_seconds(request.trial_seconds)
    return rehearsal("scale", request.bench, expected_trials(sweep), seconds, lines)
