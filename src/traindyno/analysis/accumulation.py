"""A batch too large for the device, split into micro-batches whose gradients are accumulated."""

import math

from traindyno.core.base import Record

_SMALLEST_SHARE_FOR_EXACT = 0.5


class BatchSplit(Record, frozen=True):
    """`accumulation_steps` micro-batches make the effective batch."""

    micro_batch: int
    accumulation_steps: int

    @property
    def effective_batch(self) -> int:
        return self.micro_batch * self.accumulation_steps

    def sentence(self, wanted: int) -> str:
        """The split in words, with a remark when it does not come out even."""
        if self.accumulation_steps == 1:
            return f"An effective batch of {wanted} fits as it is."
        text = f"Micro-batch {self.micro_batch} × {self.accumulation_steps} accumulation steps"
        if self.effective_batch == wanted:
            return f"{text} make an effective batch of {wanted}."
        return f"{text} make {self.effective_batch}, slightly more than {wanted}, which does not split evenly."


def split_batch(effective_batch: int, safe_batch: int) -> BatchSplit:
    """The fewest micro-batches that fit; up to twice as many if they then divide the batch exactly."""
    steps = math.ceil(effective_batch / safe_batch)
    micro = math.ceil(effective_batch / steps)
    for size in range(safe_batch, math.ceil(micro * _SMALLEST_SHARE_FOR_EXACT) - 1, -1):
        if size <= effective_batch and effective_batch % size == 0:
            return BatchSplit(micro_batch=size, accumulation_steps=effective_batch // size)
    return BatchSplit(micro_batch=micro, accumulation_steps=steps)
