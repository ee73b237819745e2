"""What a process sustained: all its steps over all their time.

Batches do not come evenly. A slow file, the edge of a shard or workers that deliver in bursts hold up a few blocks, and
the middle block knows nothing of them; an epoch takes as long as all of them together.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from traindyno.analysis.intervals import UNKNOWN, t_interval
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Block, Measurement

_FEWEST_TO_GROUP = 8
_GROUPS = 5


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
    seconds, interval = sustained_seconds(counted_blocks(measurement))
    return Rate(batch_size=measurement.batch_size, step_seconds=seconds, ci95=interval)


def counted_blocks(measurement: Measurement) -> Sequence[Block]:
    """The last blocks, as many as make up the steps that the measurement counts."""
    steps, blocks = 0, measurement.blocks
    for number in range(len(blocks), 0, -1):
        steps += blocks[number - 1].steps
        if steps >= measurement.steps:
            return blocks[number - 1 :]
    return blocks


def sustained_seconds(blocks: Sequence[Block]) -> tuple[float, Interval]:
    """Seconds per step over all blocks together, with interval."""
    seconds = math.fsum(block.seconds for block in blocks) / sum(block.steps for block in blocks)
    low, high = mean_interval([block.seconds / block.steps for block in blocks])
    return seconds, (min(low, seconds), max(high, seconds))


def mean_interval(values: Sequence[float]) -> Interval:
    """The 95 % interval of the mean of successive values, none of them negative; a single one may be anything.

    Slow blocks come in company, so neighbours are also put together, into five groups or so: what they differ by tells
    more of the mean than single values that resemble each other. The wider of both intervals is taken.
    """
    if len(values) == 1:
        return UNKNOWN
    center, half = fmean(values), max(_half_width(values), _half_width(_grouped(values)))
    return max(min(values) / 2, center - half), center + half


def _grouped(values: Sequence[float]) -> Sequence[float]:
    """Means of neighbours, counted from the end; too few values stay as they are."""
    if len(values) < _FEWEST_TO_GROUP:
        return values
    size = max(2, len(values) // _GROUPS)
    return [fmean(values[end - size : end]) for end in range(len(values), size - 1, -size)]


def _half_width(values: Sequence[float]) -> float:
    low, high = t_interval(values)
    return (high - low) / 2
