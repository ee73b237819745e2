"""What comes of making, preparing and checking a set of data. No study stands behind it."""

from typing import Protocol

from traindyno.core.base import Record


class Listener(Protocol):
    """Whoever wants to hear how far the work is."""

    def notice(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...
    def count(self, done: int, total: int) -> None: ...


class MakeAnswer(Record, frozen=True):
    """`images` are all of the set, those to train on and those to validate on; `data` is how to name it."""

    path: str
    data: str
    like: str
    images: int
    train_images: int
    val_images: int
    classes: int
    seed: int
    bytes: int
    processes: int
    seconds: float
    hint: str


class PreparedSplit(Record, frozen=True):
    name: str
    examples: int
    skipped: int
    bytes: int


class PrepareAnswer(Record, frozen=True):
    """`changes` says what training on this set does to augmentation; `skipped_names` are the first bad examples."""

    source: str
    target: str
    data: str
    format: str
    shorter_side: int
    quality: int | None
    classes: int
    examples: int
    bytes: int
    splits: tuple[PreparedSplit, ...]
    skipped: int
    skipped_names: tuple[str, ...]
    processes: int
    seconds: float
    changes: tuple[str, ...]
    hint: str


class PrepareCost(Record, frozen=True):
    """What preparing would take. `enlarged_share` of the images are smaller than the shorter side asked for."""

    source: str
    target: str
    format: str
    shorter_side: int
    examples: int
    expected_bytes: int
    free_bytes: int
    expected_seconds: float
    processes: int
    enlarged_share: float


class CheckAnswer(Record, frozen=True):
    """`damaged` are the files that are not what was written."""

    target: str
    intact: bool
    damaged: tuple[str, ...]
    examples: int
    files: int
    bytes: int
    seconds: float
    hint: str | None
