"""Throughput against batch size, from the trials that measured it."""

from collections.abc import Sequence

from traindyno.analysis.intervals import combine_processes, median, relative_half_width
from traindyno.analysis.probes import counts
from traindyno.core.answers import CurvePoint
from traindyno.core.machine import POWER_CAP
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, TrialRecord

NOT_STEADY = "not steady"
NOISY = "noisy"
THROTTLED = "throttled"
ALLOCATOR_RETRIES = "allocator retries"

_NOISY_HALF_WIDTH = 0.05


def build_curve(records: Sequence[TrialRecord]) -> tuple[CurvePoint, ...]:
    """One point per batch size that ran, ascending, each over all the fresh processes that measured it."""
    measured = [record for record in records if record.spec.kind == "speed" and record.measurement is not None]
    sizes = sorted({record.batch_size for record in measured})
    return tuple(_point(size, [record for record in measured if record.batch_size == size]) for size in sizes)


def out_of_memory_from(records: Sequence[TrialRecord]) -> int | None:
    """The smallest batch that ran out of memory, in any of its processes."""
    failed = (
        record.batch_size
        for record in records
        if record.spec.kind == "speed" and record.outcome.out_of_memory and record.spec.margin == 0
    )
    return min(failed, default=None)


def failures_besides_memory(records: Sequence[TrialRecord]) -> dict[int, Outcome]:
    """Batch sizes that ended some other way than by running or by running out of memory, and how."""
    return {
        record.batch_size: record.outcome
        for record in records
        if record.spec.kind == "speed" and counts(record) and not record.ok and not record.outcome.out_of_memory
    }


def step_interval(point: CurvePoint) -> tuple[float, float]:
    """The 95 % interval of the step time, from that of the throughput."""
    low, high = point.ci95
    return point.batch_size / high, (point.batch_size / low if low > 0 else float("inf"))


def marks_of(point: CurvePoint) -> tuple[str, ...]:
    """Why to take care with it; that it is not steady stands there too."""
    return point.marks if point.steady or NOT_STEADY in point.marks else (NOT_STEADY, *point.marks)


def _point(size: int, records: Sequence[TrialRecord]) -> CurvePoint:
    measurements = [record.measurement for record in records if record.measurement is not None]
    step_seconds, (low, high) = combine_processes(
        [measurement.step_seconds for measurement in measurements],
        [measurement.ci95 for measurement in measurements],
    )
    rate = size / step_seconds
    interval = (size / high, size / low if low > 0 else float("inf"))
    return CurvePoint(
        batch_size=size,
        examples_per_second=rate,
        ci95=interval,
        step_seconds=step_seconds,
        peak_memory_bytes=max(measurement.memory.peak_bytes for measurement in measurements),
        steady=all(measurement.steady for measurement in measurements),
        processes=len(measurements),
        memory_share=_memory_share(measurements),
        evaluation_step_seconds=_evaluation_step_seconds(measurements),
        marks=_marks(records, measurements, noisy=relative_half_width(rate, interval) > _NOISY_HALF_WIDTH),
    )


def _memory_share(measurements: Sequence[Measurement]) -> float | None:
    shares = [
        measurement.memory.peak_bytes / measurement.memory.limit_bytes
        for measurement in measurements
        if measurement.memory.limit_bytes
    ]
    return max(shares, default=None)


def _evaluation_step_seconds(measurements: Sequence[Measurement]) -> float | None:
    known = [found.evaluation_step_seconds for found in measurements if found.evaluation_step_seconds is not None]
    return median(known) if known else None


def _marks(records: Sequence[TrialRecord], measurements: Sequence[Measurement], noisy: bool) -> tuple[str, ...]:
    marks = []
    if not all(measurement.steady for measurement in measurements):
        marks.append(NOT_STEADY)
    reasons = sorted({reason for record in records for reason in record.conditions.throttle_reasons} - {POWER_CAP})
    marks.extend(f"{THROTTLED}: {reason}" for reason in reasons)
    if noisy:
        marks.append(NOISY)
    if any(measurement.memory.allocator_retries for measurement in measurements):
        marks.append(ALLOCATOR_RETRIES)
    return tuple(marks)
