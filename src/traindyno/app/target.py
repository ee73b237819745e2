"""Which of several ways to train reaches a target first."""

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.target import conclude_target
from traindyno.analysis.target_settling import batch_contender, known_contenders, needs_noise
from traindyno.analysis.target_verdicts import target_words
from traindyno.app.context import Context
from traindyno.app.device_counts import check_gpus, check_group_of, crowding_words, further_locks, threads_each
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import check_learning, without_deadline
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import data_of
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, TargetAnswer
from traindyno.core.contender_text import parse_contender
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.records import Settings, TrialSpec
from traindyno.core.requests import Bench, Contender, TargetRequest
from traindyno.core.sweeps import Sweep
from traindyno.core.units import count_of
from traindyno.report.reproduce import request_command
from traindyno.search.target import TargetPlan
from traindyno.search.throughput import doubling


def target(request: TargetRequest, context: Context) -> Document:
    """Train every contender with every seed until it is there, and conclude with the seeds that all have run."""
    check_target(request)
    asked = request
    with open_workshop(without_deadline(request.bench), context.store) as workshop:
        request = settled_target(request, workshop.bench)
        check_target(request)
        most = most_devices(request)
        check_gpus(workshop.bench.device, most, len(workshop.reader.gpus()), "devices=1")
        title = f"time to {target_words(request.target)} of {request.workload.model} on {data_of(request.workload)}"
        with (
            further_locks(workshop.bench.device, most, workshop.reader),
            open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study,
        ):
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _raced(study, request)
            warnings = (*crowding_words(workshop.bench, most), *cautions(study.records))
            return finished_document(study, request, answer, warnings, _hint(study, asked, answer))


def target_sizes(sweep: Sweep) -> tuple[int, ...]:
    """The sizes to compare; `16..256` doubles."""
    if sweep.sizes is None and sweep.largest is None:
        raise UsageError("times are compared at sizes that are named", "give a list: 16,64,256 or 16..256")
    return sweep.sizes or doubling(sweep.smallest, sweep.largest)


def contenders_of(sizes: Sequence[int], texts: Sequence[str], settings: Settings) -> tuple[Contender, ...]:
    """Batch sizes with the common settings, and ways to train by name."""
    named = [parse_contender(text, settings) for text in texts]
    return (*(batch_contender(settings, size) for size in sizes), *named)


def smallest_batch(contenders: Sequence[Contender]) -> int | None:
    """The batch that a rate is for if nothing else is said."""
    return min((each.settings.batch_size for each in contenders), default=None)


def settled_target(request: TargetRequest, bench: Bench) -> TargetRequest:
    """The request on the device that it means here.

    Where a CPU is shared by several processes, every way to train computes with as many threads in each.
    """
    most = most_devices(request)
    threads = threads_each(bench, most) if most > 1 and bench.device == "cpu" else None
    contenders = tuple(
        msgspec.structs.replace(each, settings=_on(each.settings, bench.device, threads)) for each in request.contenders
    )
    settings = None if request.settings is None else _on(request.settings, bench.device, threads)
    return msgspec.structs.replace(request, bench=bench, contenders=contenders, settings=settings)


def check_target(request: TargetRequest) -> None:
    """Refuse what could only fail later, or would compare what is not alike."""
    _check_aim(request)
    _check_noise(request)
    _check_contenders(request)
    common = [] if request.settings is None else [Contender(label="", settings=request.settings)]
    for settings, rate in ((each.settings, each.learning_rate) for each in (*common, *request.contenders)):
        recipe = request.recipe if rate is None else msgspec.structs.replace(request.recipe, learning_rate=rate)
        check_learning(request.workload, settings, recipe, request.bench, takes_devices=True)
    check_group_of(request.bench, most_devices(request))


def _check_aim(request: TargetRequest) -> None:
    metric, value = request.target.metric, request.target.value
    if metric == "accuracy" and not 0 < value <= 1:
        raise UsageError(f"an accuracy of {value:g} is no share of the examples", "write 97 % as --value 0.97")
    if not 0 < value < math.inf:
        raise UsageError(f"a {metric} of {value:g} cannot be reached", "give --value a number above 0")
    if request.seeds < 1:
        raise UsageError("every way to train needs at least one seed", "give --seeds 6 or more to tell them apart")
    if request.recipe.steps is not None:
        raise UsageError(
            "runs to a target are bounded in epochs, so that all may see as many examples", "give --epochs, not --steps"
        )


def _check_noise(request: TargetRequest) -> None:
    given = request.noise_scale
    if given is None:
        return
    if not request.verify and (request.rule != "gain" or all(each.learning_rate for each in request.contenders)):
        raise UsageError("no rate here follows from a noise scale", "leave --noise-scale away, or use --lr-rule gain")
    if not 0 < given < math.inf:
        raise UsageError(f"a noise scale of {given:g} cannot be", "give what `traindyno noise-scale` tells, above 0")


def _check_contenders(request: TargetRequest) -> None:
    if request.rule == "tune":
        raise UsageError("target does not look for rates", "take them from `traindyno accuracy --lr-rule tune`")
    if request.verify:
        _check_verified(request)
        return
    if not request.contenders:
        raise UsageError("there is nothing to compare", "name batch sizes with --batch-size, or ways with --contender")
    labels = [each.label for each in request.contenders]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise UsageError(f"two ways to train are called {twice[0]}", "give each a name of its own")
    _check_alike(known_contenders(request))
    largest, every = max(each.settings.batch_size for each in request.contenders), request.recipe.evaluation_examples
    if every is not None and every < largest:
        raise UsageError(
            f"a batch of {largest} cannot be evaluated every {every} examples, as the others would be",
            f"give --eval-examples {largest} or more",
        )


def _check_alike(contenders: Sequence[Contender]) -> None:
    """Two that train alike would share their runs, each of which would count twice."""
    before: dict[tuple[Settings, float | None], str] = {}
    for each in contenders:
        first = before.setdefault((each.settings, each.learning_rate), each.label)
        if first != each.label:
            rate = "" if each.learning_rate is None else f", at a rate of {each.learning_rate:g}"
            raise UsageError(f"{each.label} trains like {first}{rate}", "let them differ in a setting or in lr")


def _check_verified(request: TargetRequest) -> None:
    if request.contenders:
        raise UsageError("--verify chooses the batches itself", "leave --batch-size and --contender away")
    if request.settings is not None and request.settings.devices > 1:
        raise UsageError(
            "--verify holds predictions for one device against runs",
            "leave devices away, or name ways with --contender",
        )
    if request.settings is None or request.reference_batch is None:
        raise UsageError("--verify needs to know which batch the rate is for", "write --lr as 0.1@32")


def most_devices(request: TargetRequest) -> int:
    """The largest count of devices that any way to train has."""
    return max((each.settings.devices for each in request.contenders), default=1)


def _on(settings: Settings, device: str, threads: int | None) -> Settings:
    own = settings.threads
    return msgspec.structs.replace(settings, device=device, threads=threads if own is None else own)


def _raced(study: Study, request: TargetRequest) -> TargetAnswer:
    template = first_spec(study.workshop, request.workload)
    history = study.drive(target_plan(request, template))
    try:
        return conclude_target(
            request,
            template,
            history,
            data=data_of(request.workload),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise study.cut_before("seed was run by all contenders") or error from None


def target_lines(request: TargetRequest) -> list[str]:
    """What would be done, for `--dry-run`."""
    ways = ", ".join(each.label for each in request.contenders) or "chosen by the noise scale and the timed step"
    first = "first the noise scale of the gradients is measured"
    scaled = f"rates by --lr-rule {request.rule} from {request.recipe.learning_rate:g} at {request.reference_batch}"
    by_rule = request.verify or any(each.learning_rate is None for each in request.contenders)
    most = most_devices(request)
    shared = f"on up to {most} devices, which share every batch"
    return [
        f"ways to train: {ways}",
        *([shared] if most > 1 else []),
        *([scaled] if by_rule and request.reference_batch is not None else []),
        *([first] if needs_noise(request) else []),
        f"each with {count_of(request.seeds, 'seed')} until {target_words(request.target)}, "
        f"for {count_of(request.recipe.epochs, 'epoch')} at most",
    ]


def target_plan(request: TargetRequest, template: TrialSpec) -> TargetPlan:
    """The runs of the request, from what all of its trials have in common."""
    return TargetPlan(msgspec.structs.replace(template, seed=request.bench.seed), request)


def _hint(study: Study, asked: TargetRequest, answer: TargetAnswer) -> str | None:
    """The same with as many seeds as would tell the first ones apart, if a sensible number would."""
    needed = answer.needed_seeds
    if needed is None:
        return None
    return f"{request_command(msgspec.structs.replace(asked, seeds=needed))}{study.store_option}"
