"""The free parameters of a pipeline, fitted so that measured rates are met.

Trials of the loader alone tell how far several workers fall short of so many single processes; trials that feed the
model tell how much a step on the CPU suffers from workers beside it.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from traindyno.analysis.loader_parts import (
    ASSUMED_PINNED_BYTES_PER_SECOND,
    USUAL_CROWDING,
    USUAL_OVERHEAD,
    USUAL_SENSITIVITY,
    LoaderParts,
    measured_seconds,
    probed_parts,
)
from traindyno.core.records import TrialRecord

# How far, on the log scale, workers may be from what is usual, and a trial from the truth.
_OVERHEAD_SPREAD = 0.1
_CROWDING_SPREAD = 0.25
_MEASURED_SPREAD = 0.02
_CROWDING_TRIED = tuple(step / 50 for step in range(61))
_SENSITIVITIES = tuple(1 + step / 4 for step in range(17))
_SENSITIVITY_WEIGHT = 0.0004
_NEAR_HAND_OFF = 1.5


def read_parts(records: Sequence[TrialRecord], usable_cpus: float) -> LoaderParts | None:
    """The parts as all trials of one workload and batch size tell them; null before the probe has."""
    parts = probed_parts(records, usable_cpus)
    if parts is None:
        return None
    parts = with_pinning(parts, records)
    parts = _with_workers(parts, [record for record in records if record.spec.kind == "load"])
    return _with_sensitivity(parts, [record for record in records if record.spec.kind == "feed"])


def with_pinning(parts: LoaderParts, records: Iterable[TrialRecord]) -> LoaderParts:
    """Pinning holds nothing up once a run on this machine, whatever it was fed from, pinned faster than is assumed."""
    refuted = any(_pinned_bytes_per_second(record) > ASSUMED_PINNED_BYTES_PER_SECOND for record in records)
    return msgspec.structs.replace(parts, pinned_bytes_per_second=math.inf) if refuted else parts


def _pinned_bytes_per_second(record: TrialRecord) -> float:
    """What was pinned by the thread that does so beside workers, at least; nothing where there was none."""
    pins = record.spec.settings.pin_memory and record.spec.settings.num_workers > 0
    told = None if record.measurement is None else record.measurement.loading
    if not pins or told is None or record.spec.kind not in ("load", "feed"):
        return 0.0
    return (told.batch_bytes or 0) / measured_seconds(record)


def _with_workers(parts: LoaderParts, loads: Sequence[TrialRecord]) -> LoaderParts:
    """Overhead and crowding that agree best with the loader's own trials and with what is usual.

    For each crowding the best overhead is a weighted mean; the best pair is then looked up.
    """
    seen = [(record, slowness) for record in loads if (slowness := _slowness(parts, record)) is not None]
    if not seen:
        return parts
    best: tuple[float, float, float] | None = None
    for crowding in _CROWDING_TRIED:
        rests = [slowness - _crowded(parts, record, crowding) for record, slowness in seen]
        weight = len(rests) / _MEASURED_SPREAD**2 + 1 / _OVERHEAD_SPREAD**2
        overhead = (sum(rests) / _MEASURED_SPREAD**2 + USUAL_OVERHEAD / _OVERHEAD_SPREAD**2) / weight
        miss = sum(((rest - overhead) / _MEASURED_SPREAD) ** 2 for rest in rests)
        miss += ((overhead - USUAL_OVERHEAD) / _OVERHEAD_SPREAD) ** 2 + (
            (crowding - USUAL_CROWDING) / _CROWDING_SPREAD
        ) ** 2
        if best is None or miss < best[0]:
            best = (miss, overhead, crowding)
    assert best is not None
    return msgspec.structs.replace(parts, overhead=best[1], crowding=best[2])


def _slowness(parts: LoaderParts, record: TrialRecord) -> float | None:
    """Log of the time measured over that of workers as fast as the probe; null where workers were not the limit."""
    feed, settings = record.spec.feed, record.spec.settings
    if record.measurement is None or settings.num_workers == 0 or feed.depth != "examples" or feed.cold:
        return None
    unslowed = msgspec.structs.replace(parts, overhead=0.0, crowding=0.0)
    ideal = unslowed.forecast(settings, alone=True, cpus=feed.cpus).step_seconds
    if measured_seconds(record) <= _NEAR_HAND_OFF * parts.hand_off_seconds:
        return None
    return math.log(measured_seconds(record) / ideal)


def _crowded(parts: LoaderParts, record: TrialRecord, crowding: float) -> float:
    busy = min(record.spec.settings.num_workers, record.spec.feed.cpus or parts.cpus)
    return math.log1p(math.expm1(crowding) / max(1.0, parts.cpus - 1) * max(0.0, busy - 1))


def _with_sensitivity(parts: LoaderParts, feeds: Sequence[TrialRecord]) -> LoaderParts:
    """How much a step on the CPU suffers from the workers beside it, as the fed trials show."""
    told = [record for record in feeds if record.measurement is not None and record.spec.settings.num_workers > 0]
    if parts.step_sensitivity == 1.0 or not told:
        return parts

    def miss(sensitivity: float) -> float:
        tried = msgspec.structs.replace(parts, step_sensitivity=sensitivity)
        missed = [_log_miss(tried, record) ** 2 for record in told]
        return sum(missed) + _SENSITIVITY_WEIGHT * (sensitivity - USUAL_SENSITIVITY) ** 2

    return msgspec.structs.replace(parts, step_sensitivity=min(_SENSITIVITIES, key=miss))


def _log_miss(parts: LoaderParts, record: TrialRecord) -> float:
    forecast = parts.forecast(record.spec.settings, alone=False, cpus=record.spec.feed.cpus)
    return math.log(measured_seconds(record) / forecast.step_seconds)
