"""Time to the same loss at another batch: what it gains in rate, less what it needs in examples.

Examples to the same loss grow as 1 + batch / noise scale, if each batch has a rate of its own. That is a prediction:
nothing has been trained to that loss.
"""

import math

import msgspec

from traindyno.analysis.intervals import ratio_interval
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.core.answers.find import Finalist
from traindyno.core.answers.interval import Interval


def weighed(found: Finalist, own: int, noise: NoiseEstimate | None) -> Finalist:
    """A finalist with what its batch needs, and how soon it is there; as it is where no noise scale is known."""
    if noise is None or noise.value is None:
        return found
    needed, ends = examples_needed(found.batch_size, own, noise.value, noise.ci95)
    gain, interval = ratio_interval(needed, ends, found.speedup, found.speedup_ci95)
    return msgspec.structs.replace(found, examples_needed=needed, learning_gain=gain, learning_gain_ci95=interval)


def examples_needed(
    batch_size: int, own: int, noise_scale: float, ci95: Interval | None = None
) -> tuple[float, Interval]:
    """Examples for the same loss, as a multiple of those at the user's own batch; a given scale has no interval."""
    low, high = sorted(_ratio(batch_size, own, end) for end in ci95 or (noise_scale, noise_scale))
    return _ratio(batch_size, own, noise_scale), (low, high)


def sooner_by(one: Finalist, other: Finalist) -> tuple[float, Interval]:
    """How many times as fast to the same loss `one` should be as `other`."""
    return ratio_interval(other.worth, other.worth_ci95, one.worth, one.worth_ci95)


def _ratio(batch_size: int, own: int, noise_scale: float) -> float:
    """Relative examples of the one over those of the other, which holds for scales without bound and of nothing too."""
    return 1.0 if math.isinf(noise_scale) else (noise_scale + batch_size) / (noise_scale + own)
