"""Dry runs of what learns: `train`, `accuracy`, `noise-scale` and `target`."""

import msgspec

from traindyno.app.accuracy import accuracy_plan, check_accuracy, plan_lines
from traindyno.app.loader_workload import data_of
from traindyno.app.noise_scale import check_noise_scale, noise_plan
from traindyno.app.noise_scale import plan_lines as noise_lines
from traindyno.app.rehearsals.telling import limit_seconds, limit_words, settled, template, told
from traindyno.app.target import check_target, settled_target, target_lines, target_plan
from traindyno.app.train import check_train, length_words, train_plan, where_words
from traindyno.app.trial_costs import expected_trials
from traindyno.core.answers import Rehearsal
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import (
    AccuracyRequest,
    NoiseScaleRequest,
    TargetRequest,
    TrainRequest,
)
from traindyno.core.units import count_of


def rehearse_train(request: TrainRequest) -> Rehearsal:
    """One run, whose length in time nobody knows before its first steps."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_train(request)
    plan = train_plan(request, template(bench, request.workload, "learn"), None)
    lines = [f"model: {request.workload.model}", *learning_lines(request.workload, request.settings, request.recipe)]
    lines += [f"on {where_words(request)}, which share every batch"] if request.settings.devices > 1 else []
    lines.append(f"1 trial, {limit_words(bench, 'as long as it takes')}")
    return told("train", bench, bench.precision, expected_trials(plan), limit_seconds(bench), lines)


def learning_lines(workload: WorkloadSpec, settings: Settings, recipe: Recipe) -> list[str]:
    """What a run that learns does, by its recipe."""
    kept = f", beginning with {recipe.weights}" if recipe.weights is not None else ""
    optimizer = f"{workload.optimizer}{' unless it brings its own' if workload.runs_user_code else ''}"
    schedule = f"learning rate {recipe.learning_rate:g}, {recipe.schedule} schedule"
    return [
        f"data: {data_of(workload)}, fed by {count_of(settings.num_workers, 'worker')}",
        f"{length_words(recipe)} of batch size {settings.batch_size}, {optimizer}, {schedule}{kept}",
    ]


def rehearse_accuracy(request: AccuracyRequest) -> Rehearsal:
    """Runs at every size, and those that their rates rest on; how long one takes, its first epoch tells."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_accuracy(request)
    plan = accuracy_plan(request, template(bench, request.workload, "learn"))
    lines = [f"model: {request.workload.model} on {data_of(request.workload)}", *plan_lines(request, plan)]
    expected = expected_trials(plan)
    lines.append(f"about {count_of(expected, 'run')}, {limit_words(bench)}")
    return told("accuracy", bench, bench.precision, expected, limit_seconds(bench), lines)


def rehearse_noise_scale(request: NoiseScaleRequest) -> Rehearsal:
    """Runs of the recipe, and then the step at many sizes; how long a run takes, nobody knows before."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_noise_scale(request)
    expected = expected_trials(noise_plan(request, template(bench, request.workload, "noise")))
    lines = [*noise_lines(request), f"about {count_of(expected, 'trial')}, {limit_words(bench)}"]
    return told("noise-scale", bench, bench.precision, expected, limit_seconds(bench), lines)


def rehearse_target(request: TargetRequest) -> Rehearsal:
    """Runs of every contender until it is there; how long one takes, the first of them tells."""
    bench = settled(request.bench)
    request = settled_target(request, bench)
    check_target(request)
    expected = expected_trials(target_plan(request, template(bench, request.workload, "learn")))
    lines = [f"model: {request.workload.model} on {data_of(request.workload)}", *target_lines(request)]
    lines.append(f"about {count_of(expected, 'trial')}, {limit_words(bench)}")
    precision = " and ".join(dict.fromkeys(each.settings.precision for each in request.contenders)) or bench.precision
    return told("target", bench, precision, expected, limit_seconds(bench), lines)
