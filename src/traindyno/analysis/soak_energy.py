"""What a run took out of the socket, and what an epoch of it costs."""

from itertools import pairwise

from traindyno.analysis.soak_run import SoakRun

JOULES_PER_KWH = 3.6e6


def mean_watts(run: SoakRun) -> float | None:
    """Of the GPU over the run: by its energy counter, or else by its power between readings; null where unknown."""
    return _by_counter(run) or _by_power(run)


def joules_per_example(run: SoakRun) -> float | None:
    watts = mean_watts(run)
    return None if watts is None else watts / run.examples_per_second


def cost_of_epoch(
    run: SoakRun, epoch_examples: int | None, price_per_hour: float | None, price_per_kwh: float | None
) -> float | None:
    """Machine time and energy of one epoch, as far as they are known and have a price; null where neither has."""
    if epoch_examples is None:
        return None
    joules = joules_per_example(run)
    parts = []
    if price_per_hour is not None:
        parts.append(price_per_hour * epoch_examples / run.examples_per_second / 3600)
    if price_per_kwh is not None and joules is not None:
        parts.append(price_per_kwh * joules * epoch_examples / JOULES_PER_KWH)
    return sum(parts) if parts else None


def _by_counter(run: SoakRun) -> float | None:
    told = [(reading.at, reading.energy_joules) for reading in run.readings if reading.energy_joules is not None]
    if len(told) < 2 or told[-1][0] <= told[0][0]:
        return None
    return (told[-1][1] - told[0][1]) / (told[-1][0] - told[0][0])


def _by_power(run: SoakRun) -> float | None:
    """The area under the power, divided by the time it covers."""
    told = [(reading.at, reading.power_watts) for reading in run.readings if reading.power_watts is not None]
    if len(told) < 2 or told[-1][0] <= told[0][0]:
        return None
    joules = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(told))
    return joules / (told[-1][0] - told[0][0])
