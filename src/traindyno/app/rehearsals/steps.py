"""Dry runs of `anatomy`, `switches` and `soak`."""

import shlex

import msgspec

from traindyno.analysis.commands import settings_words
from traindyno.analysis.switch_candidates import Candidate
from traindyno.app.anatomy import anatomy_plan, check_anatomy, feed_words
from traindyno.app.loader_workload import data_of
from traindyno.app.rehearsals.telling import rehearsal, settled, template
from traindyno.app.soak import check_soak, soak_plan
from traindyno.app.switches import check_switches, settled_switches, switches_plan
from traindyno.app.trial_costs import (
    START_SECONDS,
    compiling_seconds,
    expected_trials,
    longest_trial_seconds,
)
from traindyno.core.answers import Rehearsal
from traindyno.core.requests import AnatomyRequest, SoakRequest, SwitchesRequest
from traindyno.core.units import count_of, format_seconds

# Once for its pairs, and once for its losses, which have another batch.
COMPILED_TIMES = 2


def rehearse_anatomy(request: AnatomyRequest) -> Rehearsal:
    """Every size in rounds of fresh processes."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_anatomy(request)
    plan = anatomy_plan(request, template(bench, request.workload, "anatomy"))
    sizes = ", ".join(map(str, sorted({request.settings.batch_size, *request.sizes})))
    lines = [
        f"model: {request.workload.model} ({request.workload.mode}), {feed_words(request)}",
        f"batch sizes: {sizes}, each in {count_of(request.repeats, 'fresh process')}",
    ]
    return rehearsal("anatomy", bench, expected_trials(plan), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_switches(request: SwitchesRequest) -> Rehearsal:
    """Pairs of every switch with the baseline, losses, and then the combination."""
    bench = settled(request.bench)
    request = settled_switches(request, bench)
    check_switches(request)
    plan = switches_plan(request, template(bench, request.workload, "pair"))
    found, combined = plan.findings([]).candidates, ", then combined" if request.combine else ""
    tried = [candidate.name for candidate in found if candidate.skipped_because is None]
    skipped = [f"not {each.name}: {each.skipped_because}" for each in found if each.skipped_because is not None]
    lines = [
        f"model: {request.workload.model} ({request.workload.mode}), batch size {request.settings.batch_size}",
        *([f"baseline: {shlex.join(chosen)}"] if (chosen := settings_words(request.settings)) else []),
        f"switches: {', '.join(tried) or 'none'}",
        *skipped,
        f"each alone in {count_of(request.repeats, 'pair')} with the baseline{combined}",
    ]
    expected = expected_trials(plan)
    seconds = (
        START_SECONDS + longest_trial_seconds(request.trial_seconds) + _compiling_seconds(found) / max(1, expected)
    )
    return rehearsal("switches", bench, expected, seconds, lines)


def _compiling_seconds(candidates: tuple[Candidate, ...]) -> float:
    """What compilers take in a whole study: later trials find their results on disk."""
    modes = [each.value for each in candidates if each.switch == "compile" and each.skipped_because is None]
    return COMPILED_TIMES * sum(compiling_seconds(str(mode)) for mode in modes)


def rehearse_soak(request: SoakRequest) -> Rehearsal:
    """One long trial."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_soak(request)
    plan = soak_plan(request, template(bench, request.workload, "soak"))
    settings = request.settings
    fed = f"fed by {count_of(settings.num_workers, 'worker')} from {data_of(request.workload)}"
    lines = [
        f"model: {request.workload.model} ({request.workload.mode})",
        f"batch size {settings.batch_size}, {fed if request.from_loader else 'one resident batch'}",
        f"one run of {format_seconds(request.run_seconds)}, the machine read once a second",
    ]
    return rehearsal("soak", bench, expected_trials(plan), START_SECONDS + request.run_seconds, lines)
