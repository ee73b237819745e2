"""How large a batch a search may jump to, judged by the memory readings so far.

Allocated memory is read, not reserved: close to the limit the allocator gives its cache back, and sizes run whose
reserved memory at small sizes would have foretold 20 % less. What is foretold so is one or two percent too high.
"""

from collections.abc import Sequence

from traindyno.analysis.memory_model import fit_memory, memory_limit_bytes, peak_bytes_by_batch, predict_batch
from traindyno.core.answers import MemoryModel
from traindyno.core.base import Record
from traindyno.core.records import TrialRecord

_LONG_SECANT = 0.75


class MemoryForecast(Record, frozen=True):
    """A line through the readings, and where memory ends."""

    model: MemoryModel
    limit_bytes: float

    def largest_batch(self, share: float = 1.0) -> int:
        """The largest batch whose allocated memory fits into a share of the limit."""
        return predict_batch(self.model, share * self.limit_bytes)


def forecast_memory(records: Sequence[TrialRecord]) -> MemoryForecast | None:
    """None while the readings do not show how memory grows or where it ends."""
    peaks = peak_bytes_by_batch(records)
    limit_bytes = memory_limit_bytes(records)
    model = fit_memory(_long_secant(peaks)) or fit_memory(peaks)
    if model is None or limit_bytes is None:
        return None
    return MemoryForecast(model=model, limit_bytes=limit_bytes)


def _long_secant(peaks: dict[int, int]) -> dict[int, int]:
    """The largest size and the next clearly below it: near neighbours would turn small jumps into slopes."""
    largest = max(peaks, default=0)
    below = [size for size in peaks if size <= _LONG_SECANT * largest]
    return {size: peaks[size] for size in (*below[-1:], largest) if size in peaks}
