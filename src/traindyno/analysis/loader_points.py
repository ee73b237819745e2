"""The measured settings of a loader study, each beside what had been predicted before it ran."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_parts import measured_seconds
from traindyno.analysis.loader_trials import LoaderTrials, known_from, measurement_of, rate_of
from traindyno.analysis.worker_estimates import estimate_counts
from traindyno.core.answers import CpuScaling, WorkerPoint
from traindyno.core.records import TrialRecord

HARDLY_WAITED = 0.01
"""A share of the step: a loader that is waited for longer is the limit."""


def searched_points(
    trials: LoaderTrials, usable_cpus: float, epoch_examples: int | None = None
) -> tuple[WorkerPoint, ...]:
    """The trials of the search that were measured, in the order they ran."""
    return tuple(
        worker_point(record, epoch_examples, predicted_seconds(trials, index, usable_cpus))
        for index, record in enumerate(trials.searched)
        if record.measurement is not None
    )


def predicted_seconds(trials: LoaderTrials, index: int, usable_cpus: float) -> float | None:
    """What the search's trials before this one let expect of it."""
    before = msgspec.structs.replace(trials, searched=trials.searched[:index])
    known, spec = known_from(before, usable_cpus), trials.searched[index].spec
    if known is None:
        return None
    if spec.kind != trials.goal_kind:
        return known.parts.forecast(spec.settings, alone=True).step_seconds
    return estimate_counts(known, (spec.settings.num_workers,), spec.settings)[0].seconds


def worker_point(record: TrialRecord, epoch_examples: int | None, predicted: float | None = None) -> WorkerPoint:
    """One measured setting. An epoch's seconds include the start of its workers."""
    found, settings = measurement_of(record), record.spec.settings
    rate, interval = rate_of(record)
    told = found.loading
    intervals = told.intervals if told is not None else None
    start_up = told.start_up_seconds if told is not None else None
    return WorkerPoint(
        num_workers=settings.num_workers,
        batch_size=settings.batch_size,
        end_to_end=record.spec.kind == "feed",
        examples_per_second=rate,
        ci95=interval,
        start_up_seconds=start_up,
        steady=found.steady,
        cpus=record.spec.feed.cpus,
        median_batch_seconds=intervals.median if intervals is not None else None,
        p95_batch_seconds=intervals.p95 if intervals is not None else None,
        longest_batch_seconds=intervals.longest if intervals is not None else None,
        predicted_examples_per_second=settings.batch_size / predicted if predicted else None,
        epoch_seconds=epoch_examples / rate + _starting_seconds(record) if epoch_examples is not None else None,
    )


def _starting_seconds(record: TrialRecord) -> float:
    """What the start of its workers adds to an epoch: all until the first batch, or all but that batch's load.

    Where the loader is the limit, every worker loads one batch in the time of as many as there are workers, from the
    start on: that is in the rate already. Who loads without workers starts none.
    """
    found, workers, seconds = measurement_of(record), record.spec.settings.num_workers, measured_seconds(record)
    told = found.loading
    if not workers or told is None or told.start_up_seconds is None:
        return 0.0
    is_limit = record.spec.kind == "load" or (told.wait_seconds or 0.0) > HARDLY_WAITED * seconds
    return max(0.0, told.start_up_seconds - workers * seconds) if is_limit else told.start_up_seconds


def cpu_scaling(restricted: Sequence[TrialRecord]) -> tuple[CpuScaling, ...]:
    """The loader's rate on so many CPUs at the worker count that was predicted best there, fewest CPUs first."""
    measured = [record for record in restricted if record.measurement is not None]
    return tuple(
        CpuScaling(
            cpus=record.spec.feed.cpus or 0,
            num_workers=record.spec.settings.num_workers,
            examples_per_second=rate_of(record)[0],
            ci95=rate_of(record)[1],
        )
        for record in sorted(measured, key=lambda record: record.spec.feed.cpus or 0)
    )
