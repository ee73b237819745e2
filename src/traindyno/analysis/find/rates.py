"""The rates that ways to train sustain, over several processes and beside each other."""

from collections.abc import Mapping, Sequence

from traindyno.analysis.intervals import combine_processes, ratio_interval
from traindyno.analysis.sustained import Rate, sustained
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Measurement, TrialRecord


def resident_of(measurement: Measurement) -> Rate | None:
    """What the same process did before with its data resident; null where it did not look."""
    told = measurement.loading
    if told is None or told.resident_step_seconds is None:
        return None
    seconds = told.resident_step_seconds
    interval = told.resident_ci95 or (seconds, seconds)
    return Rate(batch_size=measurement.batch_size, step_seconds=seconds, ci95=interval)


def rate_of(records: Sequence[TrialRecord]) -> Rate:
    """One rate over the fresh processes that measured it."""
    rates = [sustained(record.measurement) for record in records if record.measurement is not None]
    seconds, interval = combine_processes([rate.step_seconds for rate in rates], [rate.ci95 for rate in rates])
    return Rate(batch_size=rates[0].batch_size, step_seconds=seconds, ci95=interval)


def faster_by(one: Mapping[int, Rate], other: Mapping[int, Rate]) -> tuple[float, Interval] | None:
    """How many times as many examples per second `one` has, round by round; null without a common round."""
    rounds = sorted(set(one) & set(other))
    if not rounds:
        return None
    compared = [_ratio(one[each], other[each]) for each in rounds]
    return combine_processes([ratio for ratio, _ in compared], [interval for _, interval in compared])


def _ratio(one: Rate, other: Rate) -> tuple[float, Interval]:
    """Of examples per second, so that two batch sizes can be compared."""
    per_example = one.step_seconds / one.batch_size, other.step_seconds / other.batch_size
    ends = [(low / rate.batch_size, high / rate.batch_size) for rate in (one, other) for low, high in [rate.ci95]]
    return ratio_interval(per_example[0], ends[0], per_example[1], ends[1])
