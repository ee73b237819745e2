"""The settings that a loader study chose, what they give, and what each knob tried on the way did."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import combine_processes
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.loader_effects import Comparison, read_comparison, settle_knobs
from traindyno.analysis.loader_epochs import epoch_start_seconds, persistent_workers
from traindyno.analysis.loader_grid import answered_size, with_any_probe
from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.loader_trials import (
    LoaderTrials,
    chosen_settings,
    known_from,
    measurement_of,
    rate_interval,
    read_loader_trials,
    usual_seconds,
)
from traindyno.analysis.probes import examples_in_data
from traindyno.analysis.sustained import sustained
from traindyno.core.answers import LoaderEffect
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.requests import LoaderRequest


class LoaderFindings(Record, frozen=True):
    """`compared` are the knobs that `settings` were settled by; `keeping` is whether to keep the workers."""

    trials: LoaderTrials
    parts: LoaderParts
    settings: Settings
    compared: tuple[Comparison, ...]
    rate: float
    ci95: Interval
    epoch_examples: int | None
    keeping: LoaderEffect


def find_settings(
    request: LoaderRequest, history: Sequence[TrialRecord], usable_cpus: float, room: LoaderRoom
) -> LoaderFindings:
    """The worker count first, then the other knobs on top of it, then whether workers are kept between epochs."""
    trials = read_loader_trials(history, answered_size(request, history), request.with_model)
    known, chosen = known_from(with_any_probe(trials, history), usable_cpus), chosen_settings(trials)
    if known is None or chosen is None:
        raise NothingMeasuredError("no setting of the loader could be measured", _why(history))
    settings, compared = settle_knobs(chosen, known.parts, trials, room)
    rate, interval = _rate_at(trials, settings)
    epoch_examples = request.epoch_examples or examples_in_data(history)
    return LoaderFindings(
        trials=trials,
        parts=known.parts,
        settings=settings,
        compared=compared,
        rate=rate,
        ci95=interval,
        epoch_examples=epoch_examples,
        keeping=persistent_workers(settings, trials, known.parts, epoch_examples, rate),
    )


def effects_of_knobs(request: LoaderRequest, findings: LoaderFindings) -> tuple[LoaderEffect, ...]:
    """Decoders, then the knobs compared in pairs, which a grid does not, then keeping the workers."""
    compared = () if request.grid else findings.compared
    return (
        *_decoder_effects(findings.trials),
        *(_tried(read_comparison(comparison, findings.trials).effect) for comparison in compared),
        findings.keeping,
    )


def start_seconds_per_epoch(findings: LoaderFindings) -> float | None:
    """What starting an epoch costs with the settings found; workers that are kept only load the first batch."""
    starting = epoch_start_seconds(findings.settings, findings.trials)
    return min(starting, findings.parts.load_seconds) if starting and findings.keeping.adopted else starting


def _rate_at(trials: LoaderTrials, settings: Settings) -> tuple[float, Interval]:
    """The rate over all fresh processes that ran these very settings."""
    found = [sustained(measurement_of(record)) for record in trials.processes_at(settings)]
    seconds, interval = combine_processes([each.step_seconds for each in found], [each.ci95 for each in found])
    return settings.batch_size / seconds, rate_interval(settings.batch_size, interval)


def _decoder_effects(trials: LoaderTrials) -> list[LoaderEffect]:
    """Decoders against the first of them, by how fast one process makes whole batches."""
    measured = [record for record in trials.probes if record.measurement is not None]
    if len(measured) < 2 or trials.probe is None:
        return []
    first, best = usual_seconds(measured[0]), trials.probe.spec.settings.decoder
    return [
        LoaderEffect(
            knob="decoder",
            value=record.spec.settings.decoder,
            ratio=first / usual_seconds(record),
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


def _why(history: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in history if record.failure is not None), None)
