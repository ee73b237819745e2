"""The random generators of a process: their seeds, and their states as plain values that a checkpoint can hold."""

import random
from typing import Any

import numpy as np
import torch


def seed_others(seed: int) -> None:
    """What the user's own code may draw from, besides torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


def random_state(device: torch.device) -> dict[str, Any]:
    """Those of torch on both sides, of numpy and of Python."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        "numpy": (kind, [int(key) for key in keys], *rest),
        "python": random.getstate(),
    }


def set_random_state(state: dict[str, Any], device: torch.device) -> None:
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"], device)
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))
    version, inner, gauss = state["python"]
    random.setstate((version, tuple(inner), gauss))
