"""What each worker count should give: measured, or simulated and corrected by what simulating missed nearby.

An estimate's ends say how much better or worse than expected the count may turn out to be, so that a search knows
which counts are worth a trial.
"""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_parts import LoaderParts, measured_seconds
from traindyno.analysis.sustained import sustained
from traindyno.core.base import Record
from traindyno.core.records import Settings, TrialRecord

# Spreads of logarithms: of loading by several workers before and after it was measured, and of a miss carried over.
_UNKNOWN_ALONE, _UNKNOWN_CROWDED = 0.1, 0.25
_MEASURED, _PER_DISTANCE = 0.02, 0.2
_CARRIED, _CARRIED_PER_MISS = 0.015, 0.3
_UNKNOWN_SENSITIVITY, _FITTED_SENSITIVITY = 1.0, 0.4
_CLEARLY_FEWER = 0.9


class Estimate(Record, frozen=True):
    """Seconds per step expected at a worker count, and the ends between which they may well lie."""

    num_workers: int
    seconds: float
    low: float
    high: float
    measured: bool = False


class Known(Record, frozen=True):
    """What an estimate rests on: the fitted parts, the trials of the loader alone, and those of what is asked for.

    These are fed trials, or, for a loader without a model (`alone`), the trials of the loader itself.
    """

    parts: LoaderParts
    loads: tuple[TrialRecord, ...]
    goal: tuple[TrialRecord, ...]
    alone: bool


def estimate_counts(known: Known, counts: Sequence[int], settings: Settings) -> tuple[Estimate, ...]:
    """One estimate per count, in the order of the counts; everything else is as in `settings`."""
    measured = {record.spec.settings.num_workers: record for record in known.goal}
    simulated = {
        count: _simulated(known, msgspec.structs.replace(settings, num_workers=count))
        for count in sorted({*counts, *measured})
    }
    misses = {
        count: math.log(measured_seconds(record) / simulated[count].seconds) for count, record in measured.items()
    }
    return tuple(
        _measured(measured[count]) if count in measured else _corrected(known, simulated[count], misses)
        for count in counts
    )


def forecast_alone(parts: LoaderParts, counts: Sequence[int], settings: Settings, cpus: int) -> tuple[Estimate, ...]:
    """What the loader alone should give on fewer CPUs."""
    estimates = []
    for count in counts:
        changed = msgspec.structs.replace(settings, num_workers=count)
        seconds = parts.forecast(changed, alone=True, cpus=cpus).step_seconds
        estimates.append(Estimate(num_workers=count, seconds=seconds, low=seconds, high=seconds))
    return tuple(estimates)


def _measured(record: TrialRecord) -> Estimate:
    assert record.measurement is not None
    found = sustained(record.measurement)
    (low, high), workers = found.ci95, record.spec.settings.num_workers
    return Estimate(num_workers=workers, seconds=found.step_seconds, low=low, high=high, measured=True)


def _simulated(known: Known, settings: Settings) -> Estimate:
    """The forecast with the parts as they are fitted, and as much better or worse as they may be."""
    parts, spread = known.parts, _load_spread(known, settings.num_workers)
    sensitive = _FITTED_SENSITIVITY if known.goal else _UNKNOWN_SENSITIVITY
    if parts.step_sensitivity == 1.0:
        sensitive = 0.0

    def seconds(sign: int, overhead: float, crowding: float) -> float:
        sensitivity = max(1.0, parts.step_sensitivity + sign * sensitive)
        changed = msgspec.structs.replace(parts, overhead=overhead, crowding=crowding, step_sensitivity=sensitivity)
        return changed.forecast(settings, alone=known.alone).step_seconds

    if _fewer_than_measured(known, settings.num_workers):
        low = seconds(-1, 0.0, 0.0)
    else:
        low = seconds(-1, parts.overhead - spread, parts.crowding)
    return Estimate(
        num_workers=settings.num_workers,
        seconds=seconds(0, parts.overhead, parts.crowding),
        low=low,
        high=seconds(1, parts.overhead + spread, parts.crowding),
    )


def _fewer_than_measured(known: Known, workers: int) -> bool:
    """Where more workers were seen slowed down, so many fewer may not be slowed down at all."""
    most = max((record.spec.settings.num_workers for record in known.loads), default=0)
    return 0 < workers < _CLEARLY_FEWER * most


def _load_spread(known: Known, workers: int) -> float:
    """How far loading may be off at a count, on the log scale: less the nearer to one that was measured alone."""
    if workers == 0:
        return _MEASURED
    crowd = _crowd(known.parts, workers)
    unknown = math.hypot(_UNKNOWN_ALONE, _UNKNOWN_CROWDED * crowd)
    seen = [_crowd(known.parts, record.spec.settings.num_workers) for record in known.loads]
    return min([unknown, *(_MEASURED + _PER_DISTANCE * abs(crowd - other) for other in seen)])


def _crowd(parts: LoaderParts, workers: int) -> float:
    """0 for a lone worker, 1 when every CPU has one."""
    return min(1.0, max(0, workers - 1) / max(1.0, parts.cpus - 1))


def _corrected(known: Known, simulated: Estimate, misses: dict[int, float]) -> Estimate:
    """The forecast moved by what it missed at the measured counts; nothing is faster than resident data."""
    if not misses:
        return simulated
    miss = _interpolated(simulated.num_workers, misses)
    spread = _CARRIED + _CARRIED_PER_MISS * abs(miss)
    floor = 0.0 if known.alone else known.parts.step_seconds or 0.0
    seconds = max(floor, simulated.seconds * math.exp(miss))
    return Estimate(
        num_workers=simulated.num_workers,
        seconds=seconds,
        low=max(floor, min(simulated.low * math.exp(miss), seconds * math.exp(-spread))),
        high=max(simulated.high, seconds * math.exp(spread)),
    )


def _interpolated(count: int, misses: dict[int, float]) -> float:
    """The miss at a count: between those of the nearest measured ones, and as theirs beyond them."""
    below = max((other for other in misses if other <= count), default=min(misses))
    above = min((other for other in misses if other >= count), default=max(misses))
    if below == above:
        return misses[below]
    share = math.log((1 + count) / (1 + below)) / math.log((1 + above) / (1 + below))
    return (1 - share) * misses[below] + share * misses[above]
