"""Pictures for the tests of pixels: smooth colours under some noise, encoded in many ways."""

import io
from typing import Any

import numpy as np
from PIL import Image

from traindyno.worker.data.stored import Pixels

VARIED_JPEGS: dict[str, dict[str, Any]] = {
    "4:2:0 quality 50": {"quality": 50, "subsampling": 2},
    "4:2:0 quality 75": {"quality": 75, "subsampling": 2},
    "4:2:0 quality 95": {"quality": 95, "subsampling": 2},
    "4:2:2 quality 90": {"quality": 90, "subsampling": 1},
    "4:4:4 quality 50": {"quality": 50, "subsampling": 0},
    "4:4:4 quality 95": {"quality": 95, "subsampling": 0},
    "progressive 4:2:0": {"quality": 85, "subsampling": 2, "progressive": True},
    "progressive 4:4:4": {"quality": 85, "subsampling": 0, "progressive": True},
    "restart markers": {"quality": 85, "restart_marker_rows": 1},
    "grey": {"quality": 85, "mode": "L"},
    "CMYK": {"quality": 85, "mode": "CMYK"},
    "RGB without colour transform": {"quality": 85, "keep_rgb": True},
}


def picture(height: int, width: int, seed: int = 0, noise: float = 6.0) -> Pixels:
    """A picture with large and small shapes, like a photograph to a codec."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for cells in (2, 5, 13):
        shapes = rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8)
        total += np.asarray(Image.fromarray(shapes).resize((width, height), Image.Resampling.BICUBIC)) / 3
    return np.clip(total + rng.normal(0, noise, total.shape), 0, 255).astype(np.uint8)


def encoded(pixels: Pixels, kind: str = "JPEG", mode: str = "RGB", **options: Any) -> bytes:
    """The picture in an image format."""
    target = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(target, kind, **options)
    return target.getvalue()


def differences(one: Pixels, other: Pixels) -> tuple[int, float]:
    """The largest and the mean difference in levels."""
    apart = np.abs(one.astype(np.int64) - other)
    return int(apart.max()), float(apart.mean())
