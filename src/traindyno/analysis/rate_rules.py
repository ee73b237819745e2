"""Learning rates for another batch size, by rule.

The gain rule follows from the gradient's noise scale: a step at batch B brings 1 / (1 + noise scale / B) of what one
with the exact gradient would bring, so the rate is scaled by the ratio of these shares. It is the linear rule while the
batch is far below the noise scale, and no scaling at all far above it. Adam divides by the gradient's own length, which
leaves the square root.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.noise_scale import gain
from traindyno.core.errors import UsageError
from traindyno.core.learning import Noise, RateRule
from traindyno.core.records import OptimizerName, WorkloadSpec


def scaled_rate(
    rule: RateRule,
    rate: float,
    reference_batch: int,
    batch_size: int,
    optimizer: OptimizerName = "sgd",
    noise_scale: float | None = None,
) -> float:
    """The rate for `batch_size`, from the one that is right for `reference_batch`.

    `gain` needs the noise scale. `tune` looks for the rate itself: what it is given here is where it begins, by the
    noise scale where that is known and by the square root where it is not.
    """
    ratio = batch_size / reference_batch
    if rule == "none":
        return rate
    if rule == "linear":
        return rate * ratio
    if rule == "sqrt" or (rule == "tune" and noise_scale is None):
        return rate * math.sqrt(ratio)
    if noise_scale is None:
        raise UsageError("the gain rule needs the noise scale of the gradients", "give --noise-scale, or another rule")
    factor = gain(noise_scale, reference_batch, batch_size)
    return rate * (factor if optimizer == "sgd" else math.sqrt(factor))


def optimizer_for_rule(workload: WorkloadSpec, noises: Sequence[Noise]) -> OptimizerName:
    """The optimiser whose rule holds: as the readings found it, since a user's file may bring its own."""
    if noises:
        return "adam" if noises[0].preconditioned else "sgd"
    return workload.optimizer


def assumed_optimizer(workload: WorkloadSpec) -> list[str]:
    """What the gain rule took for granted, where the noise scale was given and nothing was read."""
    if not workload.runs_user_code:
        return []
    return [
        f"The gain rule assumed that {workload.model} trains with {workload.optimizer}: where it brings another "
        "optimiser, leave --noise-scale away, and the readings will tell."
    ]
