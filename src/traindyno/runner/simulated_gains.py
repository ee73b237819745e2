"""How much more accurate a simulated model can become by its depth, its regularisation and its own arguments.

A second layer of an `mlp:` gains the profile's `depth_gain`, each further one a fifth of the one before. Weight decay
and label smoothing gain a little up to an amount that is best, and lose from four times and twice that amount on; how
much decay is best, and what it gains, differs by optimiser. Arguments of the user's own function cost as much as they
are away from the best ones, which follow from their names. Without any of these the gain is nothing.
"""

import hashlib
import math
from collections.abc import Mapping

from traindyno.core.learning import Recipe
from traindyno.core.records import WorkloadSpec
from traindyno.core.rounds import Value
from traindyno.runner.profile import Profile

FURTHER_LAYERS = 0.2
BEST_DECAY = {"sgd": (5e-4, 0.003), "adam": (5e-4, 0.001), "adamw": (1e-2, 0.004)}
BEST_SMOOTHING = (0.1, 0.002)
MOST_LOST = 0.5
ARGUMENTS_SHARE = 0.1
"""Of what arguments matter to a whole job, when they only make its model."""
DECADES = 4
"""A number is best once in so many powers of ten."""
LOST_BY_NUMBERS, LOST_BY_CHOICE = 0.3, 0.03


def gain_of(profile: Profile, workload: WorkloadSpec, recipe: Recipe) -> float:
    """What is added to the accuracy that the plainest model can have; below zero where it is worse."""
    best_decay, decay_gain = BEST_DECAY[workload.optimizer]
    decayed = _hump(math.sqrt(recipe.weight_decay / best_decay), decay_gain)
    smoothed = _hump(recipe.label_smoothing / BEST_SMOOTHING[0], BEST_SMOOTHING[1])
    own = ARGUMENTS_SHARE * lost_by_arguments(workload.arguments)
    return profile.depth_gain * _further_layers(workload.model) + max(-MOST_LOST, decayed + smoothed) - own


def lost_by_arguments(arguments: Mapping[str, Value]) -> float:
    """The mean over all numbers of a smooth bowl around the best of each, and something for every choice."""
    choices = [f"{name}={value}" for name, value in arguments.items() if isinstance(value, bool | str)]
    numbers = {name: value for name, value in arguments.items() if not isinstance(value, bool | str)}
    bowls = [_bowl(name, float(value)) for name, value in numbers.items()]
    mean = math.fsum(bowls) / len(bowls) if bowls else 0.0
    return LOST_BY_NUMBERS * mean + LOST_BY_CHOICE * math.fsum(map(_chosen_by, choices))


def _hump(amount: float, gain: float) -> float:
    """Nothing at 0 and at 2, most at 1, a loss beyond."""
    return gain * amount * (2 - amount)


def _bowl(name: str, value: float) -> float:
    """From 0 at the best to 1; by powers of ten, but even across zero."""
    decades = math.asinh(1000 * value) / math.log(10)
    return (1 - math.cos(2 * math.pi * (decades / DECADES - _chosen_by(name)))) / 2


def _chosen_by(text: str) -> float:
    """A number from 0 to 1 that is always the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32


def _further_layers(model: str) -> float:
    if not model.startswith("mlp:"):
        return 0.0
    return math.fsum(FURTHER_LAYERS**further for further in range(model.count("x")))
