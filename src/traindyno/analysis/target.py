"""Which way to train reaches a target first: in time, in examples, in cost."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.accuracy import NO_ACCURACY
from traindyno.analysis.cautions import remarks
from traindyno.analysis.rate_rules import assumed_optimizer
from traindyno.analysis.survival import median_time, median_time_interval
from traindyno.analysis.target_devices import device_verdicts
from traindyno.analysis.target_fit import fit_of, fit_verdicts
from traindyno.analysis.target_runs import Entrant, entrants_of
from traindyno.analysis.target_settling import (
    assumes_optimizer,
    lacks_accuracy,
    noise_of,
    predicted_times,
    run_specs,
)
from traindyno.analysis.target_standing import standing_of
from traindyno.analysis.target_verdicts import target_verdicts
from traindyno.core.answers import TargetAnswer, TargetRow
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import TargetRequest

HOUR_SECONDS = 3600.0


def conclude_target(
    request: TargetRequest,
    template: TrialSpec,
    records: Sequence[TrialRecord],
    *,
    data: str,
    seconds: float,
    simulated: bool,
) -> TargetAnswer:
    """The contenders over the seeds that all of them have run; none of their misses is left out.

    `data` is what to call it.
    """
    if lacks_accuracy(request, records):
        raise NothingMeasuredError(NO_ACCURACY, "aim at a loss instead: --metric loss, with --value")
    entrants = entrants_of(run_specs(request, template, records), records)
    if not any(run is not None for entrant in entrants for run in entrant.runs):
        raise _nothing(entrants, records)
    rows = tuple(_row(request, entrant) for entrant in entrants)
    ran = [each for each in entrants if each.missing < len(each.runs)]
    time = standing_of({each.label: each.seconds for each in ran})
    examples = standing_of({each.label: each.examples for each in ran})
    cost = standing_of({each.label: each.device_seconds for each in ran})
    noise, predicted = noise_of(request, records).value, predicted_times(request, records)
    fit = fit_of(rows, predicted) if request.verify else None
    recipe = entrants[0].spec.recipe
    return TargetAnswer(
        model=request.workload.model,
        data=data,
        metric=request.target.metric,
        value=request.target.value,
        rows=rows,
        winner=time.winner,
        comparisons=time.comparisons,
        least_examples=examples.winner,
        least_cost=None if request.price_per_hour is None else cost.winner,
        fit=fit,
        noise_scale=noise,
        predicted=predicted,
        evaluation_examples=None if recipe is None else recipe.evaluation_examples,
        needed_seeds=time.needed_seeds,
        verdicts=(
            *target_verdicts(request.target, entrants, rows, time, examples),
            *device_verdicts(rows, time, examples, cost),
            *fit_verdicts(rows, predicted, fit, noise),
            *(assumed_optimizer(request.workload) if assumes_optimizer(request) else ()),
            *remarks(records),
        ),
        seconds=seconds,
        simulated=simulated,
    )


def _row(request: TargetRequest, entrant: Entrant) -> TargetRow:
    price, times = request.price_per_hour, entrant.seconds.seen
    examples, steps = entrant.examples.seen, entrant.steps.seen
    seconds, devices = median_time(times), entrant.spec.settings.devices
    return TargetRow(
        label=entrant.label,
        settings=msgspec.to_builtins(entrant.spec.settings),
        learning_rate=entrant.learning_rate,
        seeds=len(entrant.runs),
        reached=entrant.reached,
        median_seconds=seconds,
        ci95=median_time_interval(times),
        examples=median_time(examples),
        steps=median_time(steps),
        cost=None if price is None else devices * seconds / HOUR_SECONDS * price,
        best_metric=entrant.best_metric(request.target),
        diverged=entrant.diverged,
        missing=entrant.missing,
        examples_ci95=median_time_interval(examples),
        steps_ci95=median_time_interval(steps),
        resolution_seconds=entrant.resolution_seconds,
        failure=entrant.failure,
        devices=devices,
        norm_examples=entrant.norm_examples,
    )


def _nothing(entrants: Sequence[Entrant], records: Sequence[TrialRecord]) -> NothingMeasuredError:
    """Why there is nothing to compare: no noise scale to begin with, or no run that came to an end."""
    failures = [record.failure for record in records if record.failure is not None]
    if failures:
        return NothingMeasuredError(f"no run came to its end: {failures[-1].message}", failures[-1].remedy)
    if not entrants and any(record.spec.kind == "noise" for record in records):
        return NothingMeasuredError(
            "the noise of the gradients hides the gradient itself, so no rate or batch can be taken from it",
            "give --noise-scale, or another --lr-rule",
        )
    return NothingMeasuredError("no seed was run by all contenders", "give it more time")
