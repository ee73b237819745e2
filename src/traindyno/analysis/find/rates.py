"""The rate that training sustains: all its examples over all its time.

Workers deliver in bursts. A middle block would say how fast training is while they last, and not how long an epoch
takes.
"""

import math
from collections.abc import Mapping, Sequence

from traindyno.analysis.intervals import combine_processes, ratio_interval, t_interval
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Block, Measurement, TrialRecord

_FEWEST_BLOCKS = 3


class Rate(Record, frozen=True):
    """Seconds per step with their interval, and the batch that a step takes."""

    batch_size: int
    step_seconds: float
    ci95: Interval

    @property
    def examples_per_second(self) -> float:
        return self.batch_size / self.step_seconds

    @property
    def interval(self) -> Interval:
        """That of the examples per second."""
        low, high = self.ci95
        return self.batch_size / high, (self.batch_size / low if low > 0 else math.inf)


def sustained(measurement: Measurement) -> Rate:
    """What one process sustained after its warm-up."""
    blocks = _counted(measurement)
    seconds = math.fsum(block.seconds for block in blocks) / sum(block.steps for block in blocks)
    return Rate(batch_size=measurement.batch_size, step_seconds=seconds, ci95=_within(blocks, seconds))


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


def _counted(measurement: Measurement) -> list[Block]:
    left, counted = measurement.warm_up_steps, []
    for block in measurement.blocks:
        if left > 0:
            left -= block.steps
        else:
            counted.append(block)
    return counted or list(measurement.blocks)


def _within(blocks: Sequence[Block], seconds: float) -> Interval:
    """What the blocks leave open about their mean; with very few of them, all that they reach."""
    per_step = [block.seconds / block.steps for block in blocks]
    if len(per_step) < _FEWEST_BLOCKS:
        return min(per_step), max(per_step)
    low, high = t_interval(per_step)
    return max(min(per_step) / 2, min(low, seconds)), max(high, seconds)
