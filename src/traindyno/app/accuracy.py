"""What a larger batch costs in accuracy."""

import math
from dataclasses import replace

import msgspec

from traindyno.analysis.accuracy import conclude_accuracy
from traindyno.analysis.cautions import cautions
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import check_learning, without_deadline
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import data_of
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.train import length_words
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import AccuracyAnswer, Document
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.records import TrialSpec
from traindyno.core.requests import AccuracyRequest
from traindyno.core.sweeps import parse_sweep
from traindyno.core.units import count_of
from traindyno.report.reproduce import request_command
from traindyno.search.accuracy import NOISE_RUNS, AccuracyPlan
from traindyno.search.accuracy_runs import recipe_at
from traindyno.search.throughput import doubling

RULES_IN_WORDS = {
    "gain": "by the gain rule from",
    "linear": "by the linear rule from",
    "sqrt": "by the square-root rule from",
    "none": "the same everywhere:",
    "tune": "looked for at each size, beginning with",
}


def accuracy(request: AccuracyRequest, context: Context) -> Document:
    """Train every size with every seed, and conclude with the runs there are."""
    check_accuracy(request)
    asked = request
    with open_workshop(without_deadline(request.bench), context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_accuracy(request)
        title = f"accuracy of {request.workload.model} on {data_of(request.workload)} by batch size"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _compared(study, request)
            return finished_document(study, request, answer, cautions(study.records), _hint(study, asked))


def accuracy_sizes(text: str) -> tuple[int, ...]:
    """The sizes to compare, ascending; `16..256` doubles. A second row of a size would have the same runs."""
    sweep = parse_sweep(text)
    if sweep.sizes is None and sweep.largest is None:
        raise UsageError("accuracy is compared at sizes that are named", "give a list: 32,64,128 or 16..256")
    if sweep.sizes is None:
        return doubling(sweep.smallest, sweep.largest)
    named = [int(part) for part in text.split(",")]
    for size in sweep.sizes:
        if named.count(size) > 1:
            raise UsageError(f"batch size {size} is named twice", "name each once; more runs of each: --seeds")
    return sweep.sizes


def check_accuracy(request: AccuracyRequest) -> None:
    """Refuse what could only fail later, at every size."""
    if min(request.seeds, request.tuning_seeds) < 1:
        raise UsageError("every size needs at least one seed", "give --seeds 3 or more to tell sizes apart")
    if request.reference_batch < 1:
        raise UsageError("a rate belongs to a batch of at least one example", "write --lr as 3e-4@32")
    _check_noise(request)
    for size in (request.reference_batch, *request.sizes):
        settings = msgspec.structs.replace(request.settings, batch_size=size)
        recipe = recipe_at(request, size, request.recipe.learning_rate)
        check_learning(request.workload, settings, recipe, request.bench)


def _check_noise(request: AccuracyRequest) -> None:
    given = request.noise_scale
    if given is None:
        return
    if request.rule not in ("gain", "tune"):
        raise UsageError(
            f"--noise-scale says nothing to --lr-rule {request.rule}", "leave it away, or use --lr-rule gain"
        )
    if not 0 <= given < math.inf:
        raise UsageError(f"a noise scale of {given:g} cannot be", "give what `traindyno noise-scale` tells, from 0 on")


def accuracy_plan(request: AccuracyRequest, template: TrialSpec) -> AccuracyPlan:
    """The runs of the request, from what all of its trials have in common."""
    settings = settled(request.settings, template)
    return AccuracyPlan(msgspec.structs.replace(template, settings=settings, seed=request.bench.seed), request)


def plan_lines(request: AccuracyRequest, plan: AccuracyPlan) -> list[str]:
    """What would be trained, and how much of it: in epochs, for only a run tells how long one takes."""
    recipe, batch = request.recipe, request.reference_batch
    rule = RULES_IN_WORDS[request.rule]
    tuning = plan.usual_tuning_runs
    return [
        f"batch sizes: {', '.join(map(str, request.sizes))}; {count_of(request.seeds, 'seed')} each",
        f"length: {length_words(recipe)} at batch {batch}, and equal {request.equal} at the others",
        f"rates: {rule} {recipe.learning_rate:g}@{batch}",
        *([f"{NOISE_RUNS} runs measure the noise scale"] if plan.measures_noise else []),
        *([f"search for rates: about {tuning} runs at each size, with seeds that do not count"] if tuning else []),
        *([f"{recipe.emulated_devices} emulated devices"] if recipe.emulated_devices > 1 else []),
    ]


def _compared(study: Study, request: AccuracyRequest) -> AccuracyAnswer:
    plan = accuracy_plan(request, first_spec(study.workshop, request.workload))
    history = study.drive(plan)
    runs = plan.runs(history)
    try:
        if runs.noise is not None and runs.noise.value is None:
            raise NothingMeasuredError(
                "the gain rule needs the noise scale, and the gradients did not tell it",
                "give --noise-scale, or another --lr-rule such as sqrt",
            )
        return conclude_accuracy(
            request,
            runs,
            data=data_of(request.workload),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise study.cut_before("run came to its end") or _nothing(study, error) from None


def _nothing(study: Study, error: NothingMeasuredError) -> TraindynoError:
    """The same, with what the last run that failed says."""
    failures = [record.failure for record in study.records if record.failure is not None]
    if failures:
        return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy)
    return error


def _hint(study: Study, asked: AccuracyRequest) -> str | None:
    """From a rule to the one fair comparison."""
    if asked.rule == "tune" or len(asked.sizes) < 2:
        return None
    fair = msgspec.structs.replace(asked, rule="tune")
    return f"{request_command(fair)}{study.store_option}"
