"""How fast a simulated run learns at its batch and rate.

A step at the best rate for its batch B goes 1 / (least_steps · (1 + noise_scale / B)) of a stretch, as gradients with
this noise scale would have it; at u times that rate it goes u · (2 - u) as far, and at more than `BREAKING` times the
numbers are lost. The best rate follows the gain of the batch, with Adam its square root. With SGD it is the one for
`USUAL_MOMENTUM`: momentum m makes a rate as good as one of rate / (1 - m) without.
"""

import math
from dataclasses import dataclass

from traindyno.core.learning import Recipe
from traindyno.core.records import TrialSpec
from traindyno.runner.profile import Profile

BREAKING = 4.0
STEPS_TO_BREAK = 20
USUAL_MOMENTUM = 0.9
ADAM_SHARE = 0.02
"""Adam's best rate beside that of SGD."""
POINTS = 16
"""At which the rate is looked at between two steps that are far apart."""


@dataclass(frozen=True)
class Pace:
    profile: Profile
    spec: TrialSpec

    @property
    def recipe(self) -> Recipe:
        assert self.spec.recipe is not None, "a run that learns has a recipe"
        return self.spec.recipe

    @property
    def size(self) -> int:
        return self.spec.settings.batch_size

    @property
    def planned_steps(self) -> int:
        return self.recipe.steps or max(1, round(self.recipe.epochs * self.profile.examples / self.size))

    @property
    def best_rate(self) -> float:
        """The rate at which a step goes farthest."""
        gain = 1 / (1 + self.profile.noise_scale / self.size)
        share = gain / self._hastened if self._is_plain else ADAM_SHARE * math.sqrt(gain)
        return self.profile.best_rate * share

    @property
    def breaking_step(self) -> int | None:
        """The step at which numbers are lost: soon after the rate has become too large for the batch."""
        bearable = BREAKING * self.best_rate / self.recipe.learning_rate
        return None if bearable >= 1 else min(self.planned_steps, STEPS_TO_BREAK + round(bearable * self._warming))

    def rate(self, step: float) -> float:
        """The schedule's rate at a step."""
        recipe, planned = self.recipe, self.planned_steps
        if step < self._warming:
            return recipe.learning_rate * (step + 1) / (self._warming + 1)
        if recipe.schedule == "cosine":
            share = (step - self._warming) / max(1.0, planned - self._warming)
            return recipe.learning_rate * (1 + math.cos(math.pi * share)) / 2
        lowered = sum(step / planned >= at for at in recipe.step_at) if recipe.schedule == "step" else 0
        return float(recipe.learning_rate * recipe.step_factor**lowered)

    def way(self, first: int, last: int) -> float:
        """How many stretches the steps from `first` to `last` go."""
        middles = (first + (last - first) * (point + 0.5) / POINTS for point in range(POINTS))
        shares = [self.rate(middle) / self.best_rate for middle in middles]
        mean = sum(max(0.0, share * (2 - share)) for share in shares) / POINTS
        return (last - first) * mean / (self.profile.least_steps * (1 + self.profile.noise_scale / self.size))

    @property
    def norm_examples(self) -> int | None:
        """How many examples are normalised together; an `mlp:` does not normalise."""
        if self.spec.workload.model.startswith("mlp:"):
            return None
        each = self.size // self.spec.settings.devices
        if self.recipe.batch_norm == "sync":
            return self.size
        if self.recipe.batch_norm == "ghost":
            return min(self.recipe.ghost_size, each)
        return each // self.recipe.emulated_devices

    @property
    def _is_plain(self) -> bool:
        return self.spec.workload.optimizer == "sgd"

    @property
    def _hastened(self) -> float:
        """How much farther momentum carries a step than the usual one does."""
        return (1 - USUAL_MOMENTUM) / (1 - self.recipe.momentum)

    @property
    def _warming(self) -> float:
        return self.recipe.warm_up_epochs * self.profile.examples / self.size
