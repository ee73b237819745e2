"""`--dry-run`: what a study would do and cost, told without running a trial."""

import math
import shlex
from collections.abc import Sequence

import msgspec

from traindyno.analysis.commands import settings_words
from traindyno.analysis.find.words import changes_in_words
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.rounds.proof_cost import expected_seconds
from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.worker_choice import grid_counts
from traindyno.app.accuracy import accuracy_plan, check_accuracy, plan_lines
from traindyno.app.anatomy import anatomy_plan, check_anatomy, feed_words
from traindyno.app.find import find_plan, settled_find
from traindyno.app.find_checks import check_find
from traindyno.app.find_words import find_cost_words, find_seconds, search_lines
from traindyno.app.loader import loader_strategy, loader_template
from traindyno.app.loader_workload import check_loader, data_of, has_data, usable_cpus
from traindyno.app.noise_scale import check_noise_scale, noise_plan
from traindyno.app.noise_scale import plan_lines as noise_lines
from traindyno.app.rounds.adopt_plan import planned_proof, proof_lines
from traindyno.app.rounds.plan import round_lines
from traindyno.app.rounds.requests import check_round_request
from traindyno.app.rounds.run import question_of
from traindyno.app.scale import devices_words, scale_sweep
from traindyno.app.scale_checks import check_scale, settled_scale
from traindyno.app.soak import check_soak, soak_plan
from traindyno.app.specs import STEPS
from traindyno.app.stalls import stalls_plan, with_sources
from traindyno.app.switches import check_switches, settled_switches, switches_plan
from traindyno.app.target import check_target, settled_target, target_lines, target_plan
from traindyno.app.train import check_train, length_words, train_plan, where_words
from traindyno.app.trial_costs import (
    START_SECONDS,
    at_most_seconds,
    compiling_seconds,
    expected_trials,
    longest_trial_seconds,
)
from traindyno.app.verify import check_verify, settled_verify, verify_plan
from traindyno.app.workshop import settle
from traindyno.core.answers import Rehearsal
from traindyno.core.answers.rounds import AdoptRehearsal
from traindyno.core.learning import Recipe
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import (
    AccuracyRequest,
    AdoptRequest,
    AnatomyRequest,
    Bench,
    FindRequest,
    LoaderRequest,
    MaxBatchRequest,
    NoiseScaleRequest,
    RoundRequest,
    ScaleRequest,
    SoakRequest,
    StallsRequest,
    SwitchesRequest,
    TargetRequest,
    ThroughputRequest,
    TrainRequest,
    VerifyRequest,
)
from traindyno.core.round_space import planned_trials
from traindyno.core.units import count_of, format_bytes, format_seconds
from traindyno.machine.gpu import open_reader
from traindyno.report.wording import of_ranks
from traindyno.search.max_batch import MaxBatchSearch
from traindyno.search.throughput import ThroughputSweep

# Once for its pairs, and once for its losses, which have another batch.
COMPILED_TIMES = 2
GROUP_START_SECONDS = 10.0
"""Until all processes of a group have imported torch and found each other."""


def rehearse_max_batch(request: MaxBatchRequest) -> Rehearsal:
    """One search per model; a probe is a fresh process and three steps."""
    bench = _settled(request.bench)
    search = MaxBatchSearch(
        _template(bench, request.workloads[0], "fit"),
        tolerance=request.tolerance,
        exact=request.exact,
        limit=request.limit,
        margin=request.margin,
    )
    expected = expected_trials(search) * len(request.workloads)
    lines = [f"model: {workload.model} ({workload.mode})" for workload in request.workloads]
    closeness = "to the unit" if request.exact else f"to within {request.tolerance:.1%} of the limit"
    lines.append(f"each probe: {STEPS} steps in a fresh process, {closeness}")
    return _rehearsal("max-batch", bench, expected, START_SECONDS * 4, lines)


def rehearse_throughput(request: ThroughputRequest) -> Rehearsal:
    """One sweep; a trial measures until precise, at most `trial_seconds`."""
    bench = _settled(request.bench)
    sweep = ThroughputSweep(
        _template(bench, request.workload, "speed"),
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
    return _rehearsal("throughput", bench, expected_trials(sweep), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_loader(request: LoaderRequest) -> Rehearsal:
    """A probe, and then the search or the grid."""
    request = msgspec.structs.replace(request, bench=_settled(request.bench))
    check_loader(request)
    bench, cpus = request.bench, usable_cpus(request.bench, request.local_ranks)
    template = loader_template(request, _template(bench, request.workload, "load"))
    strategy = loader_strategy(request, template, cpus, LoaderRoom())
    workers = ", ".join(map(str, request.workers or grid_counts(cpus))) if request.grid or request.workers else None
    sizes = ", ".join(map(str, request.sizes or (request.batch_size,)))
    lines = [
        f"data: {data_of(request.workload)}",
        f"model: {request.workload.model} ({request.workload.mode})" if request.with_model else "the loader alone",
        f"batch size: {sizes}",
        f"workers: {workers or f'a search over what {cpus:g} CPUs{of_ranks(request.local_ranks)} allow'}",
    ]
    return _rehearsal("loader", bench, expected_trials(strategy), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_stalls(request: StallsRequest) -> Rehearsal:
    """Probes, and then rounds of runs that differ in one thing each."""
    bench = _settled(request.bench)
    request = with_sources(msgspec.structs.replace(request, bench=bench))
    plan = stalls_plan(request, _template(bench, request.workload, "feed"))
    settings = request.settings
    lines = [
        f"data: {', '.join((data_of(request.workload), *request.also))}",
        f"model: {request.workload.model} ({request.workload.mode})",
        f"batch size {settings.batch_size}, {count_of(settings.num_workers, 'worker')}, decoded by {settings.decoder}",
        f"each run in {count_of(request.repeats, 'fresh process')}{'' if request.cold else ', none of them cold'}",
    ]
    return _rehearsal("stalls", bench, expected_trials(plan), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_anatomy(request: AnatomyRequest) -> Rehearsal:
    """Every size in rounds of fresh processes."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_anatomy(request)
    plan = anatomy_plan(request, _template(bench, request.workload, "anatomy"))
    sizes = ", ".join(map(str, sorted({request.settings.batch_size, *request.sizes})))
    lines = [
        f"model: {request.workload.model} ({request.workload.mode}), {feed_words(request)}",
        f"batch sizes: {sizes}, each in {count_of(request.repeats, 'fresh process')}",
    ]
    return _rehearsal("anatomy", bench, expected_trials(plan), longest_trial_seconds(request.trial_seconds), lines)


def rehearse_switches(request: SwitchesRequest) -> Rehearsal:
    """Pairs of every switch with the baseline, losses, and then the combination."""
    bench = _settled(request.bench)
    request = settled_switches(request, bench)
    check_switches(request)
    plan = switches_plan(request, _template(bench, request.workload, "pair"))
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
    return _rehearsal("switches", bench, expected, seconds, lines)


def _compiling_seconds(candidates: tuple[Candidate, ...]) -> float:
    """What compilers take in a whole study: later trials find their results on disk."""
    modes = [each.value for each in candidates if each.switch == "compile" and each.skipped_because is None]
    return COMPILED_TIMES * sum(compiling_seconds(str(mode)) for mode in modes)


def rehearse_soak(request: SoakRequest) -> Rehearsal:
    """One long trial."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_soak(request)
    plan = soak_plan(request, _template(bench, request.workload, "soak"))
    settings = request.settings
    fed = f"fed by {count_of(settings.num_workers, 'worker')} from {data_of(request.workload)}"
    lines = [
        f"model: {request.workload.model} ({request.workload.mode})",
        f"batch size {settings.batch_size}, {fed if request.from_loader else 'one resident batch'}",
        f"one run of {format_seconds(request.run_seconds)}, the machine read once a second",
    ]
    return _rehearsal("soak", bench, expected_trials(plan), START_SECONDS + request.run_seconds, lines)


def rehearse_train(request: TrainRequest) -> Rehearsal:
    """One run, whose length in time nobody knows before its first steps."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_train(request)
    plan = train_plan(request, _template(bench, request.workload, "learn"), None)
    lines = [f"model: {request.workload.model}", *learning_lines(request.workload, request.settings, request.recipe)]
    lines += [f"on {where_words(request)}, which share every batch"] if request.settings.devices > 1 else []
    budget = bench.time_budget_seconds
    cost = "1 trial, as long as it takes" if budget is None else f"1 trial, at most {format_seconds(budget)}"
    seconds = math.inf if budget is None else budget
    return _told("train", bench, bench.precision, expected_trials(plan), seconds, [*lines, cost])


def learning_lines(workload: WorkloadSpec, settings: Settings, recipe: Recipe) -> list[str]:
    """What a run that learns does, by its recipe."""
    kept = f", beginning with {recipe.weights}" if recipe.weights is not None else ""
    schedule = f"learning rate {recipe.learning_rate:g}, {recipe.schedule} schedule"
    return [
        f"data: {data_of(workload)}, fed by {count_of(settings.num_workers, 'worker')}",
        f"{length_words(recipe)} of batch size {settings.batch_size}, {workload.optimizer}, {schedule}{kept}",
    ]


def rehearse_accuracy(request: AccuracyRequest) -> Rehearsal:
    """Runs at every size, and those that their rates rest on; how long one takes, its first epoch tells."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_accuracy(request)
    plan = accuracy_plan(request, _template(bench, request.workload, "learn"))
    lines = [f"model: {request.workload.model} on {data_of(request.workload)}", *plan_lines(request, plan)]
    expected, budget = expected_trials(plan), bench.time_budget_seconds
    cost = f"about {count_of(expected, 'run')}, {'as long as they take' if budget is None else format_seconds(budget)}"
    seconds = math.inf if budget is None else budget
    return _told("accuracy", bench, bench.precision, expected, seconds, [*lines, cost])


def rehearse_noise_scale(request: NoiseScaleRequest) -> Rehearsal:
    """Runs of the recipe, and then the step at many sizes; how long a run takes, nobody knows before."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_noise_scale(request)
    expected = expected_trials(noise_plan(request, _template(bench, request.workload, "noise")))
    budget = bench.time_budget_seconds
    limit = "as long as they take" if budget is None else f"at most {format_seconds(budget)}"
    lines = [*noise_lines(request), f"about {count_of(expected, 'trial')}, {limit}"]
    return _told("noise-scale", bench, bench.precision, expected, math.inf if budget is None else budget, lines)


def rehearse_target(request: TargetRequest) -> Rehearsal:
    """Runs of every contender until it is there; how long one takes, the first of them tells."""
    bench = _settled(request.bench)
    request = settled_target(request, bench)
    check_target(request)
    expected = expected_trials(target_plan(request, _template(bench, request.workload, "learn")))
    budget = bench.time_budget_seconds
    limit = "as long as they take" if budget is None else f"at most {format_seconds(budget)}"
    lines = [f"model: {request.workload.model} on {data_of(request.workload)}", *target_lines(request)]
    cost = f"about {count_of(expected, 'trial')}, {limit}"
    precision = " and ".join(dict.fromkeys(each.settings.precision for each in request.contenders)) or bench.precision
    return _told("target", bench, precision, expected, math.inf if budget is None else budget, [*lines, cost])


def rehearse_round(request: RoundRequest) -> Rehearsal:
    """The gate, and then the search in every arm; how long a run takes, the first one tells."""
    bench = _settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_round_request(request)
    expected, budget = planned_trials(request.round), bench.time_budget_seconds
    runs = "as many runs as there is time for" if expected is None else f"about {count_of(expected, 'run')}"
    limit = "as long as they take" if budget is None else f"at most {format_seconds(budget)}"
    seconds = math.inf if budget is None else budget
    lines = [f"round {request.round.name}: {question_of(request.round)}", *round_lines(request), f"{runs}, {limit}"]
    return _told("round run", bench, bench.precision, expected or 0, seconds, lines)


def rehearse_adopt(request: AdoptRequest, store: str, remarks: Sequence[str] = ()) -> AdoptRehearsal:
    """The fresh seeds of every candidate; the round's own runs tell how long they take."""
    bench, rows = _settled(request.bench), planned_proof(request, store)
    budget, to_go = bench.time_budget_seconds, sum(row.runs_to_go for row in rows)
    seconds = math.inf if budget is None else budget
    told = _told("round adopt", bench, bench.precision, to_go, seconds, proof_lines(request, rows, remarks))
    return AdoptRehearsal(
        **msgspec.structs.asdict(told),
        round=request.round_study,
        incumbent=rows[0],
        candidates=rows[1:],
        seeds=request.looks[-1],
        expected_seconds=expected_seconds(rows),
    )


def rehearse_scale(request: ScaleRequest) -> Rehearsal:
    """Every point in rounds of fresh groups of processes."""
    check_scale(request)
    reader = open_reader()
    try:
        request = settled_scale(request, settle(request.bench, reader), len(reader.gpus()))
    finally:
        reader.close()
    sweep, left_out = scale_sweep(request, _template(request.bench, request.workload, "scale"))
    batches = (("per device", request.batches_per_device), ("of all devices", request.global_batches))
    lines = [
        f"model: {request.workload.model}, {devices_words(request)}",
        *(f"batch {what}: {', '.join(map(str, sizes))}" for what, sizes in batches if sizes),
        *left_out,
        f"each in {count_of(request.repeats, 'fresh group')} of processes",
    ]
    seconds = GROUP_START_SECONDS + longest_trial_seconds(request.trial_seconds)
    return _rehearsal("scale", request.bench, expected_trials(sweep), seconds, lines)


def rehearse_find(request: FindRequest, *, data_is_there: bool = True) -> Rehearsal:
    """The search, as long as nobody knows what it will find."""
    bench = _settled(request.bench)
    request = check_find(settled_find(request, bench), data_is_there=data_is_there)
    fed = has_data(request.workload)
    plan = find_plan(request, _template(bench, request.workload, "feed"), has_data=fed)
    lines = [f"model: {request.workload.model} ({request.workload.mode})", *search_lines(request, has_data=fed)]
    expected = expected_trials(plan)
    cost = find_cost_words(request, expected)
    return _told("find", bench, bench.precision, expected, find_seconds(request, expected), [*lines, cost])


def rehearse_verify(request: VerifyRequest) -> Rehearsal:
    """Rounds of two."""
    bench = _settled(request.bench)
    request = settled_verify(request, bench)
    check_verify(request)
    plan = verify_plan(request, _template(bench, request.workload, "feed"), has_data=has_data(request.workload))
    changes = request.recommended.changes(request.baseline)
    lines = [
        f"model: {request.workload.model} ({request.workload.mode})",
        f"changes: {changes_in_words(changes) or 'none'}",
        f"both in {count_of(request.repeats, 'round')} of fresh processes",
    ]
    expected = expected_trials(plan)
    arms = [setup.settings for setup in (request.baseline, request.recommended)]
    compiling = sum(compiling_seconds(mode) for mode in {each.compile for each in arms})
    seconds = longest_trial_seconds(request.trial_seconds) + compiling / max(1, expected)
    precision = " and ".join(dict.fromkeys(each.precision for each in arms))
    return _rehearsal("verify", bench, expected, seconds, lines, precision)


def _settled(bench: Bench) -> Bench:
    reader = open_reader()
    try:
        return settle(bench, reader)
    finally:
        reader.close()


def _template(bench: Bench, workload: WorkloadSpec, kind: str) -> TrialSpec:
    settings = Settings(batch_size=1, precision=bench.precision, device=bench.device)
    return TrialSpec(kind=kind, workload=workload, settings=settings, budget=Budget(steps=STEPS))  # type: ignore[arg-type]


def _rehearsal(
    command: str, bench: Bench, expected: int, trial_seconds: float, lines: list[str], precision: str | None = None
) -> Rehearsal:
    at_most = at_most_seconds(expected, trial_seconds, bench.time_budget_seconds)
    cost = f"about {count_of(expected, 'trial')}, at most about {format_seconds(at_most)}"
    return _told(command, bench, precision or bench.precision, expected, at_most, [*lines, cost])


def _told(
    command: str, bench: Bench, precision: str, expected: int, at_most_seconds: float, lines: list[str]
) -> Rehearsal:
    limit = "" if bench.memory_limit_bytes is None else f", memory limit {format_bytes(bench.memory_limit_bytes)}"
    lines = [f"{command} on {bench.device}, {precision}{limit}", *lines, "nothing was measured (--dry-run)"]
    return Rehearsal(
        command=command,
        device=bench.device,
        expected_trials=expected,
        at_most_seconds=at_most_seconds,
        lines=tuple(lines),
    )
