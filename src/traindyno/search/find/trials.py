"""The trials of `find`, each made from a way to train."""

import random
from collections.abc import Mapping, Sequence

import msgspec

from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, TrialSpec
from traindyno.core.setups import Setup

FIT_STEPS = 3


class Trials:
    """Makes specifications. The template says the workload, the budget of time, the seed and the limits.

    Without data to load, training runs on a batch that stays on the device, and that is its end-to-end rate.
    """

    def __init__(self, template: TrialSpec, *, has_data: bool) -> None:
        self._template = template
        self.has_data = has_data

    @property
    def template(self) -> TrialSpec:
        return self._template

    def end_to_end(self, setup: Setup, repeat: int = 0) -> TrialSpec:
        """Training as it is, from the loader through the step."""
        if not self.has_data:
            return self._made(setup, kind="speed", feed=Feed(supply="resident"), repeat=repeat)
        return self._made(setup, kind="feed", feed=Feed(supply="loader"), repeat=repeat)

    def resident(self, setup: Setup, repeat: int = 0) -> TrialSpec:
        """The step alone."""
        return self._made(setup, kind="speed", feed=Feed(supply="resident"), repeat=repeat)

    def probe(self, setup: Setup, *, with_model: bool) -> TrialSpec:
        """What an example costs in one process; with the model, also what its step and its way there take."""
        feed = Feed(supply="resident" if with_model else "loader")
        return self._made(_without_workers(setup), kind="probe", feed=feed)

    def loader_alone(self, setup: Setup) -> TrialSpec:
        return self._made(setup, kind="load", feed=Feed(supply="loader"))

    def anatomy(self, setup: Setup) -> TrialSpec:
        return self._made(setup, kind="anatomy", feed=Feed(supply="loader" if self.has_data else "cached"))

    def fits(self, setup: Setup, margin: float) -> TrialSpec:
        """A few steps and an evaluation with a part of the memory held back."""
        budget = Budget(steps=FIT_STEPS)
        return self._made(setup, kind="fit", feed=Feed(supply="resident"), margin=margin, evaluate=True, budget=budget)

    def noise(self, setup: Setup, recipe: Recipe, plan: NoisePlan, seed: int) -> TrialSpec:
        """A run that learns, whose gradients are read on the way."""
        return self._made(setup, kind="noise", budget=Budget(), recipe=recipe, noise_plan=plan, seed=seed)

    def of(self, setup: Setup) -> TrialSpec:
        """The template for pairs and losses of this way to train."""
        return self._made(setup)

    def _made(self, setup: Setup, **changes: object) -> TrialSpec:
        workload = msgspec.structs.replace(self._template.workload, data=setup.data)
        return msgspec.structs.replace(self._template, workload=workload, settings=setup.settings, **changes)


def shuffled(names: Sequence[str], seed: int, number: int) -> list[str]:
    """The order of one round, which depends on the seed and the round alone."""
    return sorted(names, key=lambda name: random.Random(f"{seed} {number} {name}").random())


def changed(setup: Setup, changes: Mapping[str, object]) -> Setup:
    """The same way to train with other settings."""
    return msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, **changes))


def _without_workers(setup: Setup) -> Setup:
    return changed(setup, {"num_workers": 0})
