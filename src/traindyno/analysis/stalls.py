"""The conclusion of a stalls study: what training waits for, what that costs, and what would help."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.commands import SYNTHETIC
from traindyno.analysis.loader_budget import LoaderRoom, with_data
from traindyno.analysis.loader_trials import decodes, measurement_of
from traindyno.analysis.slowed_steps import SHARED
from traindyno.analysis.stall_causes import GPU_DECODE, NOT_WAITED, PAGE_CACHE, TRANSFER, find_causes, moving_cause
from traindyno.analysis.stall_losses import Losses, losses_of, run_wait_seconds
from traindyno.analysis.stall_predictions import parts_of, predict_runs
from traindyno.analysis.stall_remedies import Patient, find_remedies
from traindyno.analysis.stall_runs import (
    COLD,
    HALVED_BATCH,
    PROBE,
    READ_FROM_FILES,
    RESIDENT,
    WARM,
    Runs,
    measured,
    sort_runs,
    source_name,
    step_of,
    still_cached,
    was_cold,
)
from traindyno.analysis.stall_shares import Difference, within_the_step
from traindyno.analysis.stall_verdicts import UNSETTLED, stall_verdicts
from traindyno.core.answers import LoaderSettings, StallCause, StallRun, StallsAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.loading import StageCost
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.requests import StallsRequest
from traindyno.core.units import format_percent

BARELY_SHORTER = 0.9
"""Half the batch takes more than this share of the step: the step is launch-bound."""


def conclude_stalls(
    request: StallsRequest,
    history: Sequence[TrialRecord],
    *,
    usable_cpus: float,
    seconds: float | None = None,
    simulated: bool = False,
) -> StallsAnswer:
    """Everything the runs say about waiting. `seconds` defaults to the sum of the trials' own."""
    data, batch_size = request.workload.data, request.settings.batch_size
    runs = sort_runs(history, data, batch_size, request.also)
    losses = losses_of(runs)
    launch_bound = _launch_bound(runs)
    parts = parts_of(runs, usable_cpus, launch_bound)
    if losses is None or parts is None:
        raise NothingMeasuredError("the runs that show what training waits for failed", _why(history))
    stages, settings = _stages(runs), measured(runs, WARM)[0].spec.settings
    causes = find_causes(runs, losses, stages, parts)
    predicted = predict_runs(runs, parts, settings, stages, usable_cpus, request.also)
    bound = _bound(runs, losses, causes, settings.num_workers, launch_bound)
    patient = Patient(
        request=request,
        settings=settings,
        bound=bound,
        parts=parts,
        stages=stages,
        most=_most(runs, losses, bound),
        halved_ratio=_halved_ratio(runs),
        sources=tuple(_speedups(request, runs)),
        most_workers=_most_workers(runs),
    )
    found = {name: _run(runs, name, predicted.get(name)) for name in _shown(runs)}
    return StallsAnswer(
        data=data,
        batch_size=batch_size,
        settings=_loader_settings(settings, stages),
        runs=found,
        causes=causes,
        stages=stages,
        stall_share=max(0.0, losses.stall.share),
        stall_share_ci95=within_the_step(losses.stall.ci95),
        slowed_share=None if losses.slower is None else losses.slower.share,
        slowed_share_ci95=None if losses.slower is None else within_the_step(losses.slower.ci95),
        predicted=predicted,
        bound=bound,
        remedies=find_remedies(patient),
        verdicts=(
            *stall_verdicts(bound, losses, causes, found, runs, settings, usable_cpus),
            *_without_cold(request),
        ),
        bad_examples=_bad_examples(history),
        seconds=sum(record.seconds for record in history) if seconds is None else seconds,
        simulated=simulated,
    )


def _bound(runs: Runs, losses: Losses, causes: Sequence[StallCause], workers: int, launch_bound: bool) -> str:
    """The largest loss that counts names the bound; without one it is the step itself, unless chance hides a loss.

    What may be no more than CPUs that changed their speed settles nothing.
    """
    loading, moving, slower = losses.loading, losses.moving, losses.slower
    if loading.counts and loading.share >= max(_share(moving), _share(slower)):
        others = (TRANSFER, GPU_DECODE, PAGE_CACHE, *NOT_WAITED)
        largest = max((cause for cause in causes if cause.cause not in others), key=_exposed)
        return f"data: {largest.cause}"
    if moving is not None and moving.counts and moving.share >= _share(slower):
        return moving_cause(runs) if losses.moving_drift is None else UNSETTLED
    if losses.drift is not None or any(each is not None and each.is_open for each in (loading, moving, slower)):
        return UNSETTLED
    shared = slower is not None and slower.counts and workers > 0
    return f"{'launch' if launch_bound else 'compute'}{SHARED if shared else ''}"


def _share(difference: Difference | None) -> float:
    return difference.share if difference is not None else 0.0


def _exposed(cause: StallCause) -> float:
    return cause.exposed_share


def _launch_bound(runs: Runs) -> bool:
    ratio = _halved_ratio(runs)
    return ratio is not None and ratio > BARELY_SHORTER


def _halved_ratio(runs: Runs) -> float | None:
    half, whole = step_of(runs, HALVED_BATCH), step_of(runs, RESIDENT)
    return half[0] / whole[0] if half is not None and whole is not None else None


def _most(runs: Runs, losses: Losses, bound: str) -> float:
    """What resident data would gain over the loader; a better loader gains nothing that is not waited for."""
    warm, resident = step_of(runs, WARM), step_of(runs, RESIDENT)
    assert warm is not None
    assert resident is not None
    kept = 0.0 if losses.slower is None or bound.endswith(SHARED) else max(0.0, losses.slower.seconds)
    return max(1.0, warm[0] / (resident[0] + kept))


def _shown(runs: Runs) -> list[str]:
    return [name for name in runs if not name.startswith(PROBE) and measured(runs, name)]


def _run(runs: Runs, name: str, predicted: float | None) -> StallRun:
    step = step_of(runs, name)
    assert step is not None
    record = measured(runs, name)[0]
    return StallRun(
        name=name,
        source=record.spec.workload.data,
        step_seconds=step[0],
        ci95=step[1],
        examples_per_second=record.batch_size / step[0],
        predicted_step_seconds=predicted,
        note=_cold_note(runs) if name == COLD else None,
        wait_seconds=run_wait_seconds(runs, name),
    )


def _cold_note(runs: Runs) -> str:
    """Whether the page cache was really empty."""
    left = still_cached(runs)
    if left is None:
        return "it is not known how much of the data was still in the page cache"
    text = f"{format_percent(left, 0)} of the data was still in the page cache"
    return f"the page cache was dropped: {text}" if was_cold(runs) else text


def _without_cold(request: StallsRequest) -> Iterator[str]:
    if not request.cold or request.workload.data.startswith(READ_FROM_FILES):
        return
    if request.workload.data == SYNTHETIC and request.workload.runs_user_code:
        yield "There is no cold run: which files your own dataset reads is not known."
    else:
        yield "There is no cold run: this data is not read from files while it is trained on."


def _speedups(request: StallsRequest, runs: Runs) -> Iterator[tuple[str, float]]:
    """How many times as fast training is from each of the other sources."""
    warm = step_of(runs, WARM)
    for source in request.also:
        other = step_of(runs, source_name(source, request.also))
        if warm is not None and other is not None:
            yield source, warm[0] / other[0]


def _loader_settings(settings: Settings, stages: Sequence[StageCost]) -> LoaderSettings:
    return LoaderSettings(
        num_workers=settings.num_workers,
        prefetch_factor=settings.prefetch_factor if settings.num_workers else None,
        pin_memory=settings.pin_memory,
        persistent_workers=settings.persistent_workers,
        decoder=settings.decoder if decodes(stages) else None,
    )


def _most_workers(runs: Runs) -> int | None:
    probes = measured(runs, PROBE)
    return with_data(LoaderRoom(), probes[0]).most_workers if probes else None


def _stages(runs: Runs) -> tuple[StageCost, ...]:
    probes = measured(runs, PROBE)
    told = measurement_of(probes[0]).loading if probes else None
    return told.stages if told is not None else ()


def _bad_examples(history: Sequence[TrialRecord]) -> int:
    told = [record.measurement.loading for record in history if record.measurement is not None]
    return max((loading.bad_examples for loading in told if loading is not None), default=0)


def _why(history: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in history if record.failure is not None), None)
