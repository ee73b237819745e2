"""The pipeline of a loader whose images are decoded on the GPU: workers read, choose the crops, and pack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from traindyno.worker.data.packing import examine, pack, wrap
from traindyno.worker.data.pipeline import Batch, Pipeline
from traindyno.worker.data.stored import Stored


@dataclass(frozen=True)
class PackedPipeline(Pipeline):
    """`inputs` of its batches are a `PackedBatch`."""

    def open(self) -> None:
        """The decoder is on the GPU."""

    def decode(self, stored: Stored) -> Any:
        return examine(stored)

    def augment(self, decoded: Any, rng: np.random.Generator) -> Any:
        return wrap(decoded, self.data.augmentation, self.size, self.mode, rng)

    def collate(self, made: Sequence[Any], labels: Sequence[int]) -> Batch:
        packed = pack(made, labels)
        return Batch(packed, packed.labels)
