"""One line about one trial."""

import math

from traindyno.core.codec import plain
from traindyno.core.events import TrialFinished, TrialProgress, TrialStarted
from traindyno.core.records import Measurement, TrialRecord, TrialSpec
from traindyno.core.units import format_bytes, format_rate, format_seconds
from traindyno.report.trials import LOADING, fed_words


def describe_spec(spec: TrialSpec) -> str:
    """What is being tried, in a few words."""
    margin = f" within {1 - spec.margin:.0%} of memory" if spec.margin else ""
    fed = fed_words(spec.kind, spec.workload.data, plain(spec.settings), plain(spec.feed))
    return f"batch {spec.settings.batch_size}{margin}{f', {fed}' if fed else ''}"


def describe_record(record: TrialRecord) -> str:
    """What came of it."""
    if record.measurement is None:
        assert record.failure is not None
        return record.outcome.replace("_", " ")
    if record.spec.kind == "fit":
        return f"fits, {format_bytes(record.measurement.memory.peak_bytes)}"
    unit = "batch" if record.spec.kind in LOADING[:2] else "step"
    return _speed(record.measurement, unit)


def _speed(measurement: Measurement, unit: str) -> str:
    low, high = measurement.ci95
    spread = (high - low) / 2 / measurement.step_seconds
    interval = f" ± {spread:.1%}" if math.isfinite(spread) else ""
    steady = "" if measurement.steady else " (!) not steady"
    return (
        f"{format_rate(measurement.examples_per_second)} examples/s{interval}, "
        f"{format_seconds(measurement.step_seconds)}/{unit}, {format_bytes(measurement.memory.peak_bytes)}{steady}"
    )


def describe_start(event: TrialStarted) -> str:
    return f"{describe_spec(event.spec)} ({event.reason})"


def describe_progress(progress: TrialProgress) -> str:
    rate = "" if progress.step_seconds is None else f", {format_seconds(progress.step_seconds)}/step"
    return f"{progress.phase}, {progress.steps} steps{rate}"


def describe_finish(event: TrialFinished) -> str:
    """The plain line of a finished trial, with its place in the study and the time left."""
    count = f"[{event.ordinal}/{event.expected_trials}]"
    left = event.remaining_seconds
    eta = f"  (about {format_seconds(left)} left)" if left else ""
    return f"{count} {describe_spec(event.record.spec)}: {describe_record(event.record)}{eta}"
