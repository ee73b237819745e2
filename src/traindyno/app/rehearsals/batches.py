"""Dry runs of `max-batch` and `throughput`."""

from traindyno.app.rehearsals.telling import rehearsal, settled, template
from traindyno.app.specs import STEPS
from traindyno.app.trial_costs import START_SECONDS, expected_trials, longest_trial_seconds
from traindyno.core.answers import Rehearsal
from traindyno.core.requests import MaxBatchRequest, ThroughputRequest
from traindyno.core.units import count_of
from traindyno.search.max_batch import MaxBatchSearch
from traindyno.search.throughput import ThroughputSweep


def rehearse_max_batch(request: MaxBatchRequest) -> Rehearsal:
    """One search per model; a probe is a fresh process and three steps."""
    bench = settled(request.bench)
    search = MaxBatchSearch(
        template(bench, request.workloads[0], "fit"),
        tolerance=request.tolerance,
        exact=request.exact,
        limit=request.limit,
        margin=request.margin,
    )
    expected = expected_trials(search) * len(request.workloads)
    lines = [f"model: {workload.model} ({workload.mode})" for workload in request.workloads]
    closeness = (
        "to the unit" if request.exact or not request.tolerance else f"to within {request.tolerance:.1%} of the limit"
    )
    lines.append(f"each probe: {STEPS} steps in a fresh process, {closeness}")
    return rehearsal("max-batch", bench, expected, START_SECONDS * 4, lines)


def rehearse_throughput(request: ThroughputRequest) -> Rehearsal:
    """One sweep; a trial measures until precise, at most `trial_seconds`."""
    bench = settled(request.bench)
    sweep = ThroughputSweep(
        template(bench, request.workload, "speed"),
        sizes=request.sizes,
        smallest=request.smallest,
        largest=request.largest,
        refine=request.refine,
        repeats=request.repeats,
        seed=bench.seed,
    )
    sizes = ", ".join(map(str, request.sizes)) if request.sizes else f"doubling from {request.smallest}"
    top = "" if request.sizes else f" to {request.largest or 'the largest that fits'}"
    lines = [
        f"model: {request.workload.model} ({request.workload.mode})",
        f"batch sizes: {sizes}{top}, each in {count_of(request.repeats, 'fresh process')}",
    ]
    return rehearsal("throughput", bench, expected_trials(sweep), longest_trial_seconds(request.trial_seconds), lines)
