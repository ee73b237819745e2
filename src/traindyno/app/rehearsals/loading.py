"""Dry runs of `loader` and `stalls`."""

import msgspec

from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.worker_choice import grid_counts
from traindyno.app.loader import loader_strategy, loader_template
from traindyno.app.loader_workload import check_loader, data_of, usable_cpus
from traindyno.app.rehearsals.telling import rehearsal, settled, template
from traindyno.app.stalls import stalls_plan, with_sources
from traindyno.app.trial_costs import expected_trials, longest_trial_seconds
from traindyno.core.answers import Rehearsal
from traindyno.core.requests import LoaderRequest, StallsRequest
from traindyno.core.units import count_of
from traindyno.report.wording import of_ranks


def rehearse_loader(request: LoaderRequest) -> Rehearsal:
    """A probe, and then the search or the grid."""
    request = msgspec.structs.replace(request, bench=settled(request.bench))
    check_loader(request)
    bench, cpus = request.bench, usable_cpus(request.bench, request.local_ranks)
    alone = loader_template(request, template(bench, request.workload, "load"))
    strategy = loader_strategy(request, alone, cpus, LoaderRoom())
    workers = ", ".join(map(str, request.workers or grid_counts(cpus))) if request.grid or request.workers else None
    sizes = ", ".join(map(str, request.sizes or (request.batch_size,)))
    lines = [
        f"data: {data_of(request.workload)}",
        f"model: {request.workload.model} ({request.workload.mode})" if request.with_model else "the loader alone",
        f"batch size: {sizes}",
        f"workers: {workers or f'a search over what {cpus:g} CPUs{of_ranks(request.local_ranks)} allow'}",
    ]
    return rehearsal("loader", bench, expected_trials(strategy), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_stalls(request: StallsRequest) -> Rehearsal:
    """Probes, and then rounds of runs that differ in one thing each."""
    bench = settled(request.bench)
    request = with_sources(msgspec.structs.replace(request, bench=bench))
    plan = stalls_plan(request, template(bench, request.workload, "feed"))
    settings = request.settings
    lines = [
        f"data: {', '.join((data_of(request.workload), *request.also))}",
        f"model: {request.workload.model} ({request.workload.mode})",
        f"batch size {settings.batch_size}, {count_of(settings.num_workers, 'worker')}, decoded by {settings.decoder}",
        f"each run in {count_of(request.repeats, 'fresh process')}{'' if request.cold else ', none of them cold'}",
    ]
    return rehearsal("stalls", bench, expected_trials(plan), longest_trial_seconds(request.trial_seconds), lines)
