"""The conclusion of a loader study: settings, rate, predictions beside measurements, verdicts."""

from collections.abc import Sequence

from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.loader_findings import (
    LoaderFindings,
    effects_of_knobs,
    find_settings,
    start_seconds_per_epoch,
)
from traindyno.analysis.loader_grid import best_cell, grid_points
from traindyno.analysis.loader_left_out import left_out
from traindyno.analysis.loader_points import cpu_scaling, searched_points
from traindyno.analysis.loader_trials import LoaderTrials, decodes, measurement_of, usual_seconds
from traindyno.analysis.loader_verdicts import LoaderFacts, loader_verdicts
from traindyno.core.answers import LoaderAnswer, LoaderSettings
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
    findings = find_settings(request, history, usable_cpus, room)
    facts = _facts(request, history, findings, usable_cpus)
    grid = grid_points(request, history, findings.epoch_examples)
    return LoaderAnswer(
        data=request.workload.data,
        batch_size=findings.settings.batch_size,
        recommended=_recommended(findings.settings, findings.keeping.adopted, facts.stages),
        examples_per_second=findings.rate,
        ci95=findings.ci95,
        start_up_seconds=_start_up_seconds(findings.trials, findings.settings),
        stages=facts.stages,
        grid=grid,
        trials=len(history) if request.grid else _trials_of_the_search(findings.trials),
        usable_cpus=usable_cpus,
        end_to_end=request.with_model,
        points=facts.points,
        effects=facts.effects,
        cpu_scaling=facts.scaling,
        resident_examples_per_second=_resident_rate(request, findings),
        share_of_resident=facts.share_of_resident,
        start_up_seconds_per_epoch=start_seconds_per_epoch(findings),
        epoch_examples=findings.epoch_examples,
        bad_examples=_bad_examples(history),
        verdicts=(*best_cell(grid), *loader_verdicts(facts), *left_out(request, history, usable_cpus, room)),
        seconds=sum(record.seconds for record in history) if seconds is None else seconds,
        simulated=simulated,
        steady=_is_steady(findings),
    )


def _facts(
    request: LoaderRequest, history: Sequence[TrialRecord], findings: LoaderFindings, usable_cpus: float
) -> LoaderFacts:
    """What there is to say in words."""
    trials, resident = findings.trials, _resident_rate(request, findings)
    return LoaderFacts(
        settings=findings.settings,
        rate=findings.rate,
        share_of_resident=findings.rate / resident if resident is not None else None,
        stages=_stages(history),
        points=() if request.grid else searched_points(trials, usable_cpus, findings.epoch_examples),
        scaling=cpu_scaling(trials.restricted),
        effects=effects_of_knobs(request, findings),
        parts=findings.parts,
        trials=trials,
    )


def _resident_rate(request: LoaderRequest, findings: LoaderFindings) -> float | None:
    """What the model takes where nothing is loaded; null without a model."""
    parts = findings.parts
    return parts.batch_size / parts.step_seconds if parts.step_seconds and request.with_model else None


def _is_steady(findings: LoaderFindings) -> bool:
    """Whether all did from which the rate of the settings comes."""
    return all(measurement_of(record).steady for record in findings.trials.processes_at(findings.settings))


def _trials_of_the_search(trials: LoaderTrials) -> int:
    return min(1, len(trials.probes)) + len(trials.searched) + len(trials.repeated)


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


def _stages(history: Sequence[TrialRecord]) -> tuple[StageCost, ...]:
    """Those of the fastest probe."""
    probes = [record for record in history if record.spec.kind == "probe" and record.measurement is not None]
    if not probes:
        return ()
    fastest = min(probes, key=lambda record: usual_seconds(record) / record.batch_size)
    told = measurement_of(fastest).loading
    return told.stages if told is not None else ()


def _bad_examples(history: Sequence[TrialRecord]) -> int:
    told = [record.measurement.loading for record in history if record.measurement is not None]
    return max((loading.bad_examples for loading in told if loading is not None), default=0)
