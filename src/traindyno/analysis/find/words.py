"""Ratios and changes in words."""

import math
from collections.abc import Mapping
from typing import Any

from traindyno.analysis.intervals import tells_nothing
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.noise_verdicts import figure
from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers.interval import Interval


def times(ratio: float) -> str:
    """`1.52 times`."""
    return f"{ratio:.2f} times"


def within(ratio: float, interval: Interval) -> str:
    """`1.48 to 1.57`; of a ratio that may be anything `± over 100 %`."""
    return "± over 100 %" if tells_nothing(ratio, interval) else between(interval)


def between(interval: Interval) -> str:
    """`1.48 to 1.57`."""
    low, high = interval
    return f"{low:.2f} to {high:.2f}" if math.isfinite(high) else f"from {low:.2f}"


def noise_words(noise: NoiseEstimate) -> str:
    """`340 (210 to 800)`; without an interval it was given."""
    if noise.ci95 is None:
        return figure(noise.value)
    low, high = noise.ci95
    ends = f"{figure(low)} to {figure(high)}" if math.isfinite(high) else f"from {figure(low)}"
    return f"{figure(noise.value)} ({ends})"


def changes_in_words(changes: Mapping[str, Any]) -> str:
    """`precision=bf16, num_workers=4`."""
    return ", ".join(f"{name}={value_words(value)}" for name, value in changes.items())
