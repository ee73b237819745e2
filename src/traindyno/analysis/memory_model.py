"""Peak memory as an affine function of the batch size, and what it foretells."""

import math
from collections.abc import Mapping, Sequence

from traindyno.core.answers import MemoryModel
from traindyno.core.records import TrialRecord


def peak_bytes_by_batch(records: Sequence[TrialRecord]) -> dict[int, int]:
    """The highest peak seen at each batch size that ran, ascending."""
    peaks: dict[int, int] = {}
    for record in records:
        if record.measurement is not None:
            size = record.batch_size
            peaks[size] = max(peaks.get(size, 0), record.measurement.memory.peak_bytes)
    return dict(sorted(peaks.items()))


def memory_limit_bytes(records: Sequence[TrialRecord]) -> int | None:
    """What the latest trial with nothing held back could have had, or else the most that any could."""
    known = [
        (record.spec.margin, record.measurement.memory.limit_bytes)
        for record in records
        if record.measurement is not None and record.measurement.memory.limit_bytes is not None
    ]
    plain = [limit for margin, limit in known if margin == 0]
    return plain[-1] if plain else max((limit for _, limit in known), default=None)


def fit_memory(peaks: Mapping[int, int]) -> MemoryModel | None:
    """Least squares, weighted by the square of the size: the large sizes decide, the small are often crooked.

    Two sizes are met exactly. One size alone, or memory that does not grow with the batch, gives no model.
    """
    if len(peaks) < 2:
        return None
    weights = {size: float(size) ** 2 for size in peaks}
    total = math.fsum(weights.values())
    mean_size = math.fsum(weights[size] * size for size in peaks) / total
    mean_peak = math.fsum(weights[size] * peak for size, peak in peaks.items()) / total
    covariance = math.fsum(weights[size] * (size - mean_size) * (peak - mean_peak) for size, peak in peaks.items())
    variance = math.fsum(weights[size] * (size - mean_size) ** 2 for size in peaks)
    slope = covariance / variance
    if slope <= 0:
        return None
    intercept = mean_peak - slope * mean_size
    return MemoryModel(
        intercept_bytes=intercept,
        slope_bytes=slope,
        relative_error=max(abs(intercept + slope * size - peak) / max(peak, 1) for size, peak in peaks.items()),
    )


def predict_bytes(model: MemoryModel, batch_size: int) -> float:
    """The peak the model expects at a size."""
    return model.intercept_bytes + model.slope_bytes * batch_size


def predict_batch(model: MemoryModel, limit_bytes: float) -> int:
    """The largest batch whose predicted peak stays within the limit; zero if none does."""
    return max(0, math.floor((limit_bytes - model.intercept_bytes) / model.slope_bytes + 1e-6))
