"""What a source of data hands out, before any decoding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Augmentation = Literal["resized_crop", "crop", "padded_crop", "none"]


@dataclass(frozen=True, slots=True)
class Stored:
    """One example as it is stored: an encoded image, or pixels as height × width × 3. `name` is for errors."""

    content: bytes | Pixels
    label: int
    name: str


class Examples(Protocol):
    """Examples by index. Instances travel to loader workers, by fork or pickled.

    `augmentation` is what suits the stored form: `resized_crop` of a random part, `crop` of the stored size without
    scaling, `padded_crop` of tiny images, or `none` of what must stay as it is. `paths` are the files that hold the
    data, for the page cache.
    """

    classes: int
    augmentation: Augmentation

    @property
    def paths(self) -> Sequence[str]: ...

    def __len__(self) -> int: ...

    def fetch(self, index: int) -> Stored: ...


@dataclass(eq=False)
class HeldPixels:
    """All images of one size and their labels, held in memory; `paths` is empty because no file is read any more."""

    images: Pixels
    labels: NDArray[np.int64]
    place: str
    classes: int
    augmentation: Augmentation

    @property
    def paths(self) -> Sequence[str]:
        return ()

    def __len__(self) -> int:
        return len(self.labels)

    def fetch(self, index: int) -> Stored:
        return Stored(self.images[index], int(self.labels[index]), f"image {index} of {self.place}")


class ExampleStream(Protocol):
    """Examples in the order of their files, shuffled through a buffer; each worker reads its own share of the files."""

    classes: int
    augmentation: Augmentation
    buffer_examples: int

    @property
    def paths(self) -> Sequence[str]: ...

    def __len__(self) -> int: ...

    def stream(self, worker: int, workers: int, seed: int) -> Iterator[Stored]:
        """One epoch of the worker's share; the next epoch is asked for with another seed."""
        ...
