"""The gradient noise scale: the batch at which noise and gradient are alike, from readings over several runs.

The noise scale changes while a model learns. What counts for the steps to a loss is its mean over the way there, each
moment with the share of progress that a step had at it: gradient² / (gradient² + noise / batch), times its rate.
Readings are divided by that sum, as their neighbours in training have it on average, and multiplied by the rate; then
the ratio of their means is taken. No reading is among those that say how much it counts: one whose gradient seems
short by chance would make itself important.
"""

import itertools
import math
from collections.abc import Sequence

from traindyno.analysis.mean_ratio import Pair, fieller_interval, log_interval, mean_between, mean_within
from traindyno.core.answers import NoiseWindow
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.learning import Noise, NoiseReading

WINDOWS = 4
NEIGHBOURS, FEWEST_NEIGHBOURS = 8, 2
"""So many readings of each run, before and after, are averaged to know what a step was worth at that time.

They are fewer near the ends of a run, as many on either side, so that what falls or rises is not mistaken.
"""


class NoiseEstimate(Record, frozen=True):
    """`value` is null where the readings do not tell the gradient from nothing; `ci95` is null with it."""

    value: float | None
    ci95: Interval | None


UNKNOWN_NOISE = NoiseEstimate(value=None, ci95=None)
Runs = Sequence[Sequence[NoiseReading]]


def noise_scale_of(noises: Sequence[Noise]) -> NoiseEstimate:
    """The noise scale over the whole of all runs, which are of one recipe and one batch."""
    return _estimate([noise.readings for noise in noises], _read_at_once(noises))


def noise_windows(noises: Sequence[Noise], batch_size: int, windows: int = WINDOWS) -> tuple[NoiseWindow, ...]:
    """The noise scale over equal parts of the runs, from their first steps to their last."""
    steps = max((noise.steps for noise in noises), default=0)
    edges = [round(steps * part / windows) for part in range(windows + 1)]
    found = (_window(noises, batch_size, first, last) for first, last in itertools.pairwise(edges))
    return tuple(window for window in found if window is not None)


def gain(noise_scale: float, reference_batch: int, batch_size: int) -> float:
    """How much more a step at `batch_size` is worth than one at `reference_batch`, and its rate with plain SGD."""
    return (1 + noise_scale / reference_batch) / (1 + noise_scale / batch_size)


def _window(noises: Sequence[Noise], batch_size: int, first: int, last: int) -> NoiseWindow | None:
    """The readings before step `last` and not before step `first`."""
    within = [[reading for reading in noise.readings if first <= reading.step < last] for noise in noises]
    if not any(within):
        return None
    estimate = _estimate(within, _read_at_once(noises))
    return NoiseWindow(
        first_step=first,
        last_step=last,
        epochs=last * batch_size / noises[0].training_examples,
        noise_scale=estimate.value,
        ci95=estimate.ci95,
    )


def _read_at_once(noises: Sequence[Noise]) -> int:
    """The examples of one reading."""
    return noises[0].micro_batch * noises[0].micro_batches if noises else 1


def _estimate(runs: Runs, read_at_once: int) -> NoiseEstimate:
    """Chance within runs decides whether there is a value; the interval is the wider of within and between runs."""
    pairs = _weighed([run for run in runs if run], read_at_once)
    within, between = mean_within(pairs), mean_between(pairs)
    if within is None or not within.denominator_is_positive or within.numerator <= 0:
        return UNKNOWN_NOISE
    intervals = [fieller_interval(within), *([] if between is None else [log_interval(between)])]
    interval = min(low for low, _ in intervals), max(high for _, high in intervals)
    return NoiseEstimate(value=within.numerator / within.denominator, ci95=interval)


def _weighed(runs: Runs, read_at_once: int) -> list[list[Pair]]:
    """Noise and squared gradient of every reading, over what they make together in a batch at that time."""
    batch_size = _batch_size(runs)
    return [
        [
            _pair(each, _rate(each) / _together(_neighbours(runs, run, number) or [each], batch_size, read_at_once))
            for number, each in enumerate(run)
        ]
        for run in runs
    ]


def _pair(reading: NoiseReading, weight: float) -> Pair:
    return weight * reading.noise_trace, weight * reading.gradient_squared


def _rate(reading: NoiseReading) -> float:
    return 1.0 if reading.learning_rate is None else reading.learning_rate


def _neighbours(runs: Runs, own: Sequence[NoiseReading], number: int) -> list[NoiseReading]:
    """The readings of all runs around one of them, without itself."""
    reach = max(FEWEST_NEIGHBOURS, min(NEIGHBOURS, number, len(own) - 1 - number))
    first, last = max(0, number - reach), number + reach + 1
    others = [each for run in runs if run is not own for each in run[first:last]]
    return [*others, *own[first:number], *own[number + 1 : last]]


def _together(readings: Sequence[NoiseReading], batch_size: float, read_at_once: int) -> float:
    """The mean squared length of a batch's gradient; 1 where even that is nothing.

    A batch larger than all that these readings saw counts as one of so many examples: they know no more than that.
    """
    gradient = math.fsum(each.gradient_squared for each in readings) / len(readings)
    noise = math.fsum(each.noise_trace for each in readings) / len(readings)
    return max(0.0, gradient) + max(0.0, noise) / min(batch_size, len(readings) * read_at_once) or 1.0


def _batch_size(runs: Runs) -> float:
    """Examples per step, from the last reading that has any behind it; readings of the first weights count alike."""
    last = max((run[-1] for run in runs), key=lambda reading: reading.step, default=None)
    return last.examples / last.step if last is not None and last.step else math.inf
