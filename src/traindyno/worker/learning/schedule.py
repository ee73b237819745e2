"""The learning rate of each step. Every schedule ends with the run itself, however long that is."""

import math

from traindyno.core.learning import Recipe


def planned_steps(recipe: Recipe, training_examples: int, batch_size: int) -> int:
    """Equal epochs are equal examples: batches are full, and run over the edges of epochs."""
    if recipe.steps is not None:
        return recipe.steps
    return max(1, round(recipe.epochs * training_examples / batch_size))


def rate_of(recipe: Recipe, step: int, planned: int, steps_per_epoch: float) -> float:
    """The rate of the optimiser step number `step`, counted from 0, of `planned` ones.

    It rises in equal parts over the warm-up, has its full height at the first step after that, and then follows the
    schedule. Cosine would be zero one step after the last.
    """
    warm_up = warm_up_steps(recipe, planned, steps_per_epoch)
    if step < warm_up:
        return recipe.learning_rate * (step + 1) / (warm_up + 1)
    return recipe.learning_rate * _height(recipe, step, warm_up, planned)


def warm_up_steps(recipe: Recipe, planned: int, steps_per_epoch: float) -> int:
    """Whole steps; one at least is left at the full rate."""
    return min(round(recipe.warm_up_epochs * steps_per_epoch), planned - 1)


def _height(recipe: Recipe, step: int, warm_up: int, planned: int) -> float:
    if recipe.schedule == "cosine":
        return (1 + math.cos(math.pi * (step - warm_up) / (planned - warm_up))) / 2
    if recipe.schedule == "step":
        return float(recipe.step_factor ** sum(step >= share * planned for share in recipe.step_at))
    return 1.0
