"""Scikit-learn's handwritten digits, which come with it: 1,797 images of 8 × 8 pixels: `digits:`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.stored import HeldPixels

CLASSES = 10
DARKEST = 16
# Of each class, in the order in which scikit-learn has them, the fifth, the tenth and so on are to infer on.
INFER_EVERY = 5


def open_digits(path: str, mode: Mode) -> HeldPixels:
    """Four fifths of each class to train on, or the others to infer on; the same ones always.

    A digit is never flipped or shifted.
    """
    if path:
        raise UsageError(f"digits: takes no path, and digits:{path} names one", "write digits: alone")
    loaded = _loaded()
    labels = np.asarray(loaded.target, np.int64)
    chosen = _to_infer_on(labels) == (mode == "infer")
    grey = np.rint(loaded.images * (255 / DARKEST)).astype(np.uint8)
    images = np.repeat(grey[chosen, :, :, np.newaxis], 3, axis=3)
    images.flags.writeable = False
    return HeldPixels(images, labels[chosen], f"digits: to {mode} on", CLASSES, "none")


def _to_infer_on(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    chosen = np.zeros(len(labels), np.bool_)
    for label in range(CLASSES):
        chosen[np.flatnonzero(labels == label)[INFER_EVERY - 1 :: INFER_EVERY]] = True
    return chosen


def _loaded() -> Any:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise TraindynoError(
            "digits: comes with scikit-learn, which is not installed", "pip install scikit-learn, or name other --data"
        ) from error
    return load_digits()
