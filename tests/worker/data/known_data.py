"""Data of which the tests know everything: in memory, as a stream, and with stages that take a known time."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from traindyno.worker.data.bad import bad_example
from traindyno.worker.data.stored import Augmentation, Stored
from worker.data.pictures import encoded, picture


@dataclass
class KnownExamples:
    """Small JPEG images; the label of an example is its index. Those in `bad` are no images."""

    count: int = 12
    classes: int = 12
    augmentation: Augmentation = "resized_crop"
    as_pixels: bool = False
    bad: tuple[int, ...] = ()
    fetch_seconds: float = 0.0
    paths: Sequence[str] = ()
    _images: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._images = [encoded(picture(24, 32, seed)) for seed in range(3)]

    def __len__(self) -> int:
        return self.count

    def fetch(self, index: int) -> Stored:
        if self.fetch_seconds:
            time.sleep(self.fetch_seconds)
        if index in self.bad:
            raise bad_example(f"image {index}", "it is no image")
        content = picture(24, 32, index % 3) if self.as_pixels else self._images[index % 3]
        return Stored(content, index, f"image {index}")


@dataclass
class KnownStream:
    """The same in order, as two workers or one would read it. Filling its buffer takes a known time."""

    count: int = 12
    classes: int = 12
    augmentation: Augmentation = "resized_crop"
    buffer_examples: int = 4
    fill_seconds: float = 0.0
    paths: Sequence[str] = ()

    def __len__(self) -> int:
        return self.count

    def stream(self, worker: int, workers: int, seed: int) -> Iterator[Stored]:
        time.sleep(self.fill_seconds)
        examples = KnownExamples(self.count)
        order = np.random.default_rng(seed).permutation(range(worker, self.count, workers))
        for index in order:
            yield examples.fetch(int(index))
