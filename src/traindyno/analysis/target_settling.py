"""What a comparison of times to a target settles from its first trials: noise scale, batches, rates, evaluations."""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.batch_times import batch_times, best_batch
from traindyno.analysis.curve import build_curve
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import UNKNOWN_NOISE, NoiseEstimate, noise_scale_of
from traindyno.analysis.rate_rules import optimizer_for_rule, scaled_rate
from traindyno.core.answers import BatchTime
from traindyno.core.learning import Learning, Noise
from traindyno.core.records import Budget, OptimizerName, Settings, TrialRecord, TrialSpec
from traindyno.core.requests import Contender, TargetRequest

AROUND = 4
"""How far the batches beside the best one lie from it when a prediction is verified."""
EVALUATIONS_PER_EPOCH, EVALUATIONS_TO_TARGET = 4, 16


def needs_noise(request: TargetRequest) -> bool:
    """Whether rates or batches rest on a noise scale that was not given."""
    return request.noise_scale is None and (
        request.verify or any(is_by_gain(request, each) for each in request.contenders)
    )


def assumes_optimizer(request: TargetRequest) -> bool:
    """Whether rates rest on an optimiser that no reading has shown."""
    by_gain = request.rule == "gain" and (
        request.verify or any(is_by_gain(request, each) for each in request.contenders)
    )
    return by_gain and request.noise_scale is not None


def lacks_accuracy(request: TargetRequest, records: Sequence[TrialRecord]) -> bool:
    """Whether an accuracy is to be reached by outputs that are no classes, as any run tells."""
    measured = [record.measurement for record in records if record.ok and record.measurement is not None]
    learnt = [each.learning for each in measured if each.learning is not None]
    return request.target.metric == "accuracy" and any(each.evaluations[-1].accuracy is None for each in learnt)


def known_contenders(request: TargetRequest) -> tuple[Contender, ...]:
    """Those of the request, each with its rate if that is known before anything runs."""
    noise, optimizer = request.noise_scale, request.workload.optimizer
    return tuple(
        each if noise is None and is_by_gain(request, each) else _with_rate(request, each, noise, optimizer)
        for each in request.contenders
    )


def noise_of(request: TargetRequest, records: Sequence[TrialRecord]) -> NoiseEstimate:
    """The noise scale that was given, or the one that trials have shown."""
    if request.noise_scale is not None:
        return NoiseEstimate(value=request.noise_scale, ci95=None)
    return noise_scale_of(_noises(records)) if needs_noise(request) else UNKNOWN_NOISE


def _noises(records: Sequence[TrialRecord]) -> list[Noise]:
    return noises_of([record for record in records if record.ok])


def training_examples_of(records: Sequence[TrialRecord]) -> int | None:
    """How many examples an epoch has, once a trial has told."""
    for measurement in (record.measurement for record in records if record.measurement is not None):
        for told in (measurement.learning, measurement.noise):
            if told is not None:
                return told.training_examples
    return None


def predicted_times(request: TargetRequest, records: Sequence[TrialRecord]) -> tuple[BatchTime, ...]:
    """Time to the same loss at every timed batch, by the noise scale."""
    return batch_times(build_curve(records), noise_of(request, records)) if request.verify else ()


def largest_timed(training_examples: int) -> int:
    """The largest power of two of which an epoch has a batch."""
    return 1 << max(1, training_examples).bit_length() - 1


def settled_contenders(request: TargetRequest, records: Sequence[TrialRecord]) -> tuple[Contender, ...]:
    """Those that run, each with its rate; none while what they rest on is not known."""
    noise = noise_of(request, records).value
    if noise is None and needs_noise(request):
        return ()
    contenders = _around_best(request, records) if request.verify else request.contenders
    optimizer = optimizer_for_rule(request.workload, _noises(records))
    return tuple(_with_rate(request, contender, noise, optimizer) for contender in contenders)


def evaluation_examples_of(
    request: TargetRequest, contenders: Sequence[Contender], records: Sequence[TrialRecord]
) -> int | None:
    """The same for all: what was asked for, or so few that a first run's way to the target is well divided.

    Where that run missed it, a quarter of an epoch. It is never less than the largest batch of which there is one,
    as that sees so many between two evaluations anyway. Null before the first run.
    """
    every, first = request.recipe.evaluation_examples, first_run(records)
    if every is None and first is not None:
        quarter = first.training_examples / EVALUATIONS_PER_EPOCH
        crossing = math.inf if first.reached is None else first.reached.examples / EVALUATIONS_TO_TARGET
        every = round(min(quarter, crossing))
    sizes = [each.settings.batch_size for each in contenders]
    fitting = [size for size in sizes if first is None or size <= first.training_examples]
    return None if every is None else max(every, *fitting, 1)


def first_run_specs(request: TargetRequest, at_reference: TrialSpec, records: Sequence[TrialRecord]) -> list[TrialSpec]:
    """Runs with a seed of their own, evaluated after each epoch, of which one shows about where the target is.

    The contender next to the reference comes first, the others in case that it cannot be run; of equal batches, the one
    on the fewest devices.
    """
    reference = Contender(label="", settings=at_reference.settings, learning_rate=request.recipe.learning_rate)
    size = reference.settings.batch_size
    contenders = () if request.verify else settled_contenders(request, records)
    ordered = sorted(contenders, key=lambda each: _distance(each.settings, size)) or [reference]
    return [_first_run_of(request, at_reference, each) for each in ordered]


def _distance(settings: Settings, size: int) -> tuple[float, int]:
    return abs(math.log(settings.batch_size / size)), settings.devices


def _first_run_of(request: TargetRequest, template: TrialSpec, contender: Contender) -> TrialSpec:
    recipe = msgspec.structs.replace(request.recipe, target=request.target, learning_rate=contender.learning_rate)
    seed = request.bench.seed + request.seeds
    return msgspec.structs.replace(template, kind="learn", settings=contender.settings, recipe=recipe, seed=seed)


def first_run(records: Sequence[TrialRecord]) -> Learning | None:
    """What the first run has shown, once one could be run."""
    learnt = [record for record in records if record.ok and record.spec.kind == "learn" and _by_epoch(record.spec)]
    return None if not learnt or learnt[0].measurement is None else learnt[0].measurement.learning


def _by_epoch(spec: TrialSpec) -> bool:
    return spec.recipe is not None and spec.recipe.evaluation_examples is None


def run_specs(
    request: TargetRequest, template: TrialSpec, records: Sequence[TrialRecord]
) -> dict[str, list[TrialSpec]]:
    """The runs of each contender by its label, one for each seed; none while what they rest on is not known."""
    contenders = settled_contenders(request, records)
    every = evaluation_examples_of(request, contenders, records)
    if every is None:
        return {}
    return {each.label: _runs(request, template, each, every) for each in contenders}


def _runs(request: TargetRequest, template: TrialSpec, contender: Contender, every: int) -> list[TrialSpec]:
    assert contender.learning_rate is not None
    recipe = msgspec.structs.replace(
        request.recipe,
        learning_rate=contender.learning_rate,
        evaluation_examples=every,
        target=request.target,
    )
    spec = msgspec.structs.replace(template, kind="learn", settings=contender.settings, recipe=recipe, budget=Budget())
    return [msgspec.structs.replace(spec, seed=request.bench.seed + number) for number in range(request.seeds)]


def _around_best(request: TargetRequest, records: Sequence[TrialRecord]) -> tuple[Contender, ...]:
    """The best batch and its neighbours, as far as they could be timed at all."""
    timed = predicted_times(request, records)
    best, settings = best_batch(timed), request.settings
    if best is None or settings is None:
        return ()
    sizes = {each.batch_size for each in timed}
    return tuple(batch_contender(settings, size) for size in (best // AROUND, best, AROUND * best) if size in sizes)


def batch_contender(settings: Settings, batch_size: int) -> Contender:
    """The settings at a batch size, called by it."""
    return Contender(label=f"batch {batch_size}", settings=msgspec.structs.replace(settings, batch_size=batch_size))


def _with_rate(
    request: TargetRequest, contender: Contender, noise: float | None, optimizer: OptimizerName
) -> Contender:
    if contender.learning_rate is not None:
        return contender
    size = contender.settings.batch_size
    reference = request.reference_batch or size
    rate = request.recipe.learning_rate
    if size != reference:
        rate = scaled_rate(request.rule, rate, reference, size, optimizer, noise)
    return msgspec.structs.replace(contender, learning_rate=rate)


def is_by_gain(request: TargetRequest, contender: Contender) -> bool:
    """Whether its rate follows from the noise scale."""
    size = contender.settings.batch_size
    return request.rule == "gain" and contender.learning_rate is None and size != (request.reference_batch or size)
