"""How large a batch a search may jump to, judged by the memory readings so far."""

from collections.abc import Sequence

from traindyno.analysis.memory_model import (
    fit_memory,
    memory_limit_bytes,
    peak_bytes_by_batch,
    predict_batch,
    predict_bytes,
)
from traindyno.core.answers import MemoryModel
from traindyno.core.records import Record, TrialRecord

_LONG_SECANT = 0.75
_MOST_HEADROOM = 1.04


class MemoryForecast(Record, frozen=True):
    """A line through the readings, and where memory ends.

    `allocated_limit_bytes` is the most that peaks can reach; `reserved_limit_bytes` is lower, because the
    allocator reserves more than it hands out.
    """

    model: MemoryModel
    allocated_limit_bytes: float
    reserved_limit_bytes: float

    def largest_batch(self) -> int:
        """The largest batch whose allocated memory alone fits."""
        return predict_batch(self.model, self.allocated_limit_bytes)

    def largest_reserved_batch(self, share: float = 1.0, below: int | None = None) -> int:
        """The largest batch whose reserved memory fits into a share of the limit.

        A size known to fail (`below`) lowers the limit to what it would have taken: memory may end before its
        stated end.
        """
        limit = self.reserved_limit_bytes
        if below is not None:
            limit = min(limit, predict_bytes(self.model, below))
        return predict_batch(self.model, share * limit)


def forecast_memory(records: Sequence[TrialRecord]) -> MemoryForecast | None:
    """None while the readings do not show how memory grows or where it ends.

    Sizes that failed with the margin enforced lower the limit: the memory they would have taken is less than
    was stated.
    """
    peaks = peak_bytes_by_batch(records)
    limit_bytes = memory_limit_bytes(records)
    model = fit_memory(_long_secant(peaks)) or fit_memory(peaks)
    if model is None or limit_bytes is None:
        return None
    ceiling = min([float(limit_bytes), *_refused_bytes(model, records)])
    reserved = min(limit_bytes / _headroom(records), ceiling)
    return MemoryForecast(model=model, allocated_limit_bytes=ceiling, reserved_limit_bytes=reserved)


def _refused_bytes(model: MemoryModel, records: Sequence[TrialRecord]) -> list[float]:
    """What sizes that failed under a margin would have taken, scaled up to the whole memory."""
    return [
        predict_bytes(model, record.batch_size) / (1 - record.spec.margin)
        for record in records
        if record.outcome.out_of_memory and record.spec.margin > 0
    ]


def _long_secant(peaks: dict[int, int]) -> dict[int, int]:
    """The largest size and the next clearly below it: near neighbours would turn small jumps into slopes."""
    largest = max(peaks, default=0)
    below = [size for size in peaks if size <= _LONG_SECANT * largest]
    return {size: peaks[size] for size in (*below[-1:], largest) if size in peaks}


def _headroom(records: Sequence[TrialRecord]) -> float:
    """Reserved over allocated memory at the largest size that reports both; small ones exaggerate: capped."""
    measured = [record.measurement for record in records if record.measurement is not None]
    known = [found for found in measured if found.memory.peak_reserved_bytes and found.memory.peak_bytes]
    if not known:
        return 1.0
    memory = max(known, key=lambda found: found.batch_size).memory
    ratio = (memory.peak_reserved_bytes or 0) / memory.peak_bytes
    return min(max(ratio, 1.0), _MOST_HEADROOM)
