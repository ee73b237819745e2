"""The conclusion of a loader study: settings, rate, predictions beside measurements, verdicts."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import Interval, combine_processes
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.loader_effects import read_comparison, settle_knobs
from traindyno.analysis.loader_epochs import epoch_start_seconds, persistent_workers
from traindyno.analysis.loader_grid import answered_size, best_cell, grid_points, with_any_probe
from traindyno.analysis.loader_left_out import left_out
from traindyno.analysis.loader_points import cpu_scaling, searched_points
from traindyno.analysis.loader_trials import (
    LoaderTrials,
    chosen_settings,
    decodes,
    known_from,
    measurement_of,
    rate_interval,
    read_loader_trials,
)
from traindyno.analysis.loader_verdicts import LoaderFacts, loader_verdicts
from traindyno.analysis.probes import examples_in_data
from traindyno.core.answers import LoaderAnswer, LoaderEffect, LoaderSettings
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.loading import StageCost
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.requests import LoaderRequest


def conclude_loader(
    request: LoaderRequest,
    history: Sequence[TrialRecord],
    *,
    usable_cpus: float,
    room: LoaderRoom | None = None,
    seconds: float | None = None,
    simulated: bool = False,
) -> LoaderAnswer:
    """Everything the trials, in the order they ran, say about the loader. `seconds` defaults to their sum.

    Of a grid over several batch sizes that of the fastest cell is answered.
    """
    room = room or LoaderRoom()
    batch_size = answered_size(request, history)
    trials = read_loader_trials(history, batch_size, request.with_model)
    known, chosen = known_from(with_any_probe(trials, history), usable_cpus), chosen_settings(trials)
    if known is None or chosen is None:
        raise NothingMeasuredError("no setting of the loader could be measured", _why(history))
    parts = known.parts
    settled, compared = settle_knobs(chosen, parts, trials, room)
    rate, interval = _rate_at(trials, settled)
    epoch_examples = request.epoch_examples or examples_in_data(history)
    keeping = persistent_workers(settled, trials, parts, epoch_examples, rate)
    effects = (
        *_decoder_effects(trials),
        *(_tried(read_comparison(comparison, trials).effect) for comparison in compared if not request.grid),
        keeping,
    )
    stages = _stages(history)
    resident = parts.batch_size / parts.step_seconds if parts.step_seconds and request.with_model else None
    facts = LoaderFacts(
        settings=settled,
        rate=rate,
        share_of_resident=rate / resident if resident is not None else None,
        stages=stages,
        points=() if request.grid else searched_points(trials, usable_cpus, epoch_examples),
        scaling=cpu_scaling(trials.restricted),
        effects=effects,
        parts=parts,
        trials=trials,
    )
    grid = grid_points(request, history, epoch_examples)
    starting = epoch_start_seconds(settled, trials)
    return LoaderAnswer(
        data=request.workload.data,
        batch_size=batch_size,
        recommended=_recommended(settled, keeping.adopted, stages),
        examples_per_second=rate,
        ci95=interval,
        start_up_seconds=_start_up_seconds(trials, settled),
        stages=stages,
        grid=grid,
        trials=len(history) if request.grid else _trials_of_the_search(trials),
        usable_cpus=usable_cpus,
        end_to_end=request.with_model,
        points=facts.points,
        effects=effects,
        cpu_scaling=facts.scaling,
        resident_examples_per_second=resident,
        share_of_resident=facts.share_of_resident,
        start_up_seconds_per_epoch=min(starting, parts.load_seconds) if starting and keeping.adopted else starting,
        epoch_examples=epoch_examples,
        bad_examples=_bad_examples(history),
        verdicts=(*best_cell(grid), *loader_verdicts(facts), *left_out(request, history, usable_cpus, room)),
        seconds=sum(record.seconds for record in history) if seconds is None else seconds,
        simulated=simulated,
    )


def _trials_of_the_search(trials: LoaderTrials) -> int:
    return min(1, len(trials.probes)) + len(trials.searched) + len(trials.repeated)


def _rate_at(trials: LoaderTrials, settings: Settings) -> tuple[float, Interval]:
    """The rate over all fresh processes that ran these very settings."""
    found = [measurement_of(record) for record in trials.processes_at(settings)]
    seconds, interval = combine_processes([each.step_seconds for each in found], [each.ci95 for each in found])
    return settings.batch_size / seconds, rate_interval(settings.batch_size, interval)


def _recommended(settings: Settings, persistent: bool, stages: Sequence[StageCost]) -> LoaderSettings:
    return LoaderSettings(
        num_workers=settings.num_workers,
        prefetch_factor=settings.prefetch_factor if settings.num_workers else None,
        pin_memory=settings.pin_memory,
        persistent_workers=persistent or (settings.persistent_workers and settings.num_workers > 0),
        decoder=settings.decoder if decodes(stages) or settings.decoder == "nvjpeg" else None,
    )


def _start_up_seconds(trials: LoaderTrials, settings: Settings) -> float:
    """Until the first batch at these settings, as nearly as it was measured."""
    for record in (*trials.compared, *trials.goal, *trials.loads):
        told = record.measurement.loading if record.measurement is not None else None
        same = record.spec.settings.num_workers == settings.num_workers
        if same and told is not None and told.start_up_seconds is not None:
            return told.start_up_seconds
    return 0.0


def _decoder_effects(trials: LoaderTrials) -> list[LoaderEffect]:
    """Decoders against the first of them, by how fast one process makes whole batches."""
    measured = [record for record in trials.probes if record.measurement is not None]
    if len(measured) < 2 or trials.probe is None:
        return []
    first, best = measurement_of(measured[0]), trials.probe.spec.settings.decoder
    return [
        LoaderEffect(
            knob="decoder",
            value=record.spec.settings.decoder,
            ratio=first.step_seconds / measurement_of(record).step_seconds,
            ci95=None,
            adopted=record.spec.settings.decoder == best,
            skipped_because="by its speed in one process",
        )
        for record in measured[1:]
    ]


def _tried(effect: LoaderEffect) -> LoaderEffect:
    if effect.ratio is not None or effect.skipped_because is not None:
        return effect
    return msgspec.structs.replace(effect, skipped_because="the study ended before it was tried")


def _stages(history: Sequence[TrialRecord]) -> tuple[StageCost, ...]:
    """Those of the fastest probe."""
    probes = [record for record in history if record.spec.kind == "probe" and record.measurement is not None]
    if not probes:
        return ()
    fastest = min(probes, key=lambda record: measurement_of(record).step_seconds / record.batch_size)
    told = measurement_of(fastest).loading
    return told.stages if told is not None else ()


def _bad_examples(history: Sequence[TrialRecord]) -> int:
    told = [record.measurement.loading for record in history if record.measurement is not None]
    return max((loading.bad_examples for loading in told if loading is not None), default=0)


def _why(history: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in history if record.failure is not None), None)
