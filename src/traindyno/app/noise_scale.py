"""How noisy gradients are, and which batch that makes the fastest."""

import shlex
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import device_words, settings_words, workload_words
from traindyno.analysis.noise_answer import conclude_noise_scale
from traindyno.analysis.recipe_words import recipe_words
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import check_learning, without_deadline
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import data_of
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, NoiseScaleAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.records import TrialSpec
from traindyno.core.requests import NoiseScaleRequest
from traindyno.core.sweeps import Sweep
from traindyno.core.units import count_of
from traindyno.search.noise_scale import NoiseScaleStudy
from traindyno.search.throughput import doubling


def noise_scale(request: NoiseScaleRequest, context: Context) -> Document:
    """Read the gradients of a few runs, time the step at many sizes, and put both together."""
    check_noise_scale(request)
    with open_workshop(without_deadline(request.bench), context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_noise_scale(request)
        title = f"gradient noise of {request.workload.model} on {data_of(request.workload)}"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _answer(study, request)
            return finished_document(study, request, answer, cautions(study.records), _hint(study, request, answer))


def check_noise_scale(request: NoiseScaleRequest) -> None:
    """Refuse what could only fail later."""
    plan = request.plan
    check_learning(request.workload, request.settings, request.recipe, request.bench)
    if plan.micro_batches < 2:
        raise UsageError("one micro-batch has nothing to differ from", "give --micro-batches 2 or more")
    if min(plan.micro_batch or 1, plan.readings, request.seeds, request.repeats) < 1:
        raise UsageError(
            "nothing would be read", "give --micro-batch, --readings, --seeds and --repeats at least 1 each"
        )
    parts = request.settings.accumulation_steps
    if any(size % parts for size in request.sizes or ()):
        raise UsageError(
            f"every timed batch is computed in {parts} parts", f"give --curve-sizes that are multiples of {parts}"
        )


def curve_sizes(sweep: Sweep | None, largest: int | None) -> tuple[int, ...] | None:
    """The sizes that are named; null where they are left to the study."""
    if sweep is None:
        return None
    if largest is not None:
        raise UsageError("--largest is for sizes that are not named", "leave --largest or --curve-sizes away")
    return tuple(sweep.sizes or doubling(sweep.smallest, sweep.largest))


def plan_lines(request: NoiseScaleRequest) -> list[str]:
    """What would be read and timed."""
    plan, recipe = request.plan, request.recipe
    length = count_of(recipe.epochs, "epoch") if recipe.steps is None else count_of(recipe.steps, "step")
    micro = "8 examples (16 with batch normalisation)" if plan.micro_batch is None else f"{plan.micro_batch} examples"
    top = "" if request.largest is None else f" to {request.largest}"
    sizes = f"doubling{top}" if request.sizes is None else ", ".join(map(str, request.sizes))
    return [
        f"model: {request.workload.model}, data: {data_of(request.workload)}",
        f"{count_of(request.seeds, 'run')} of {length} at batch {request.settings.batch_size}, "
        f"rate {recipe.learning_rate:g}",
        f"{plan.readings} readings in each, of {plan.micro_batches} micro-batches of {micro}",
        f"step timed at batch sizes: {sizes}, each in {count_of(request.repeats, 'fresh process')}",
    ]


def noise_plan(request: NoiseScaleRequest, template: TrialSpec) -> NoiseScaleStudy:
    """The trials of the request, from what all of them have in common."""
    settings = settled(request.settings, template)
    return NoiseScaleStudy(msgspec.structs.replace(template, settings=settings), request)


def _answer(study: Study, request: NoiseScaleRequest) -> NoiseScaleAnswer:
    history = study.drive(noise_plan(request, first_spec(study.workshop, request.workload)))
    try:
        return conclude_noise_scale(
            request,
            history,
            data=data_of(request.workload),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise study.cut_before("gradient was read") or _nothing(study, error) from None


def _nothing(study: Study, error: NothingMeasuredError) -> TraindynoError:
    failures = [record.failure for record in study.records if record.failure is not None]
    if not failures:
        return error
    return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy)


def _hint(study: Study, request: NoiseScaleRequest, answer: NoiseScaleAnswer) -> str | None:
    """What the batch costs in accuracy is the next question, if another one was found."""
    best, own = answer.best_batch, request.settings.batch_size
    if best is None or best == own or answer.noise_scale is None:
        return None
    asked = study.workshop.asked
    rate = f"{request.recipe.learning_rate:.12g}@{own}"
    words = [*workload_words(request.workload, asked), *device_words(asked), *settings_words(request.settings)]
    own_words = ["--batch-size", f"{min(best, own)},{max(best, own)}", "--noise-scale", f"{answer.noise_scale:.3g}"]
    recipe = recipe_words(request.recipe, rate)
    return f"{shlex.join(['traindyno', 'accuracy', *words, *own_words, *recipe])}{study.store_option}"
