"""Learning rates as they are typed: `3e-4@32` is that of batch 32."""

import math

from traindyno.core.base import Record
from traindyno.core.errors import UsageError


class RateAt(Record, frozen=True):
    """A learning rate and the batch it is for; null: the smallest that is compared."""

    rate: float
    batch_size: int | None = None


def parse_rate_at(text: str) -> RateAt:
    """`3e-4@32`, or `3e-4`."""
    rate, _, batch = text.strip().partition("@")
    try:
        found = RateAt(rate=float(rate), batch_size=int(batch) if "@" in text else None)
    except ValueError:
        raise UsageError(f"{text!r} is no rate at a batch size", "write it as 3e-4@32") from None
    if not 0 < found.rate < math.inf or (found.batch_size is not None and found.batch_size < 1):
        raise UsageError(f"{text!r} is no rate at a batch size", "write it as 3e-4@32, both above 0")
    return found
