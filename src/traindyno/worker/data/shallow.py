"""Pipelines that stop early, to tell what reading costs without decoding, and decoding without the rest.

What they hand over is a number for each example, so handing over costs next to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from traindyno.worker.data.augment import choose_crop, cut_out
from traindyno.worker.data.pipeline import Batch, Pipeline
from traindyno.worker.data.stored import Stored


@dataclass(frozen=True)
class BytesOnly(Pipeline):
    """Reads what the whole pipeline reads and does nothing more: encoded images as a whole, of pixels the crop."""

    def open(self) -> None:
        """Nothing is decoded."""

    def decode(self, stored: Stored) -> Any:
        content = stored.content
        return len(content) if isinstance(content, bytes) else content

    def augment(self, decoded: Any, rng: np.random.Generator) -> Any:
        if isinstance(decoded, int):
            return decoded
        height, width, _ = decoded.shape
        box = choose_crop(height, width, self.data.augmentation, self.size, self.mode, rng)
        return cut_out(decoded, box).nbytes

    def collate(self, made: Sequence[Any], labels: Sequence[int]) -> Batch:
        return Batch(torch.tensor(made), torch.tensor(labels, dtype=torch.int64))


@dataclass(frozen=True)
class PixelsOnly(BytesOnly):
    """Reads and decodes; examples stored as pixels are only read."""

    def open(self) -> None:
        Pipeline.open(self)

    def decode(self, stored: Stored) -> Any:
        if isinstance(stored.content, bytes):
            return int(Pipeline.decode(self, stored)[-1, -1, -1])
        return stored.content


@dataclass(frozen=True)
class WholeBytes(BytesOnly):
    """Reads all of every example, so that whatever crop is taken later finds it in memory."""

    def augment(self, decoded: Any, rng: np.random.Generator) -> Any:
        """Pixels may lie in a memory map, whose pages are read only when something looks at them: a copy does."""
        return decoded if isinstance(decoded, int) else decoded.copy().nbytes
