"""Recipes that make no sense are refused before anything is built."""

from math import inf

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings


def check_recipe(recipe: Recipe, settings: Settings) -> None:
    """Raise for a recipe that cannot be followed, or that says something which would have no effect."""
    _check_rates(recipe)
    _check_length(recipe)
    _check_shares(recipe)
    _check_normalising(recipe, settings)


def _check_rates(recipe: Recipe) -> None:
    if not 0 < recipe.learning_rate < inf:
        raise UsageError(f"a learning rate of {recipe.learning_rate:g} teaches nothing", "give --lr a rate above 0")
    if not 0 <= recipe.momentum < 1:
        raise UsageError(f"a momentum of {recipe.momentum:g} is none", "give --momentum from 0 to below 1")
    if not 0 <= recipe.weight_decay < inf:
        raise UsageError(f"a weight decay of {recipe.weight_decay:g} is none", "give --weight-decay 0 or more")
    if recipe.clip_norm is not None and not 0 < recipe.clip_norm < inf:
        raise UsageError(f"gradients clipped to {recipe.clip_norm:g} are gone", "give --clip-norm a length above 0")
    if not 0 < recipe.step_factor < inf:
        raise UsageError(f"a step factor of {recipe.step_factor:g} ends all learning", "give --step-factor above 0")


def _check_length(recipe: Recipe) -> None:
    if recipe.steps is not None and recipe.steps < 1:
        raise UsageError(f"{recipe.steps} steps are no training", "give --steps at least 1")
    if not 0 < recipe.epochs < inf:
        raise UsageError(f"{recipe.epochs:g} epochs are no training", "give --epochs above 0")
    if not 0 <= recipe.warm_up_epochs < inf:
        raise UsageError(f"{recipe.warm_up_epochs:g} epochs are no warm-up", "give --warm-up-epochs 0 or more")
    if recipe.steps is None and recipe.warm_up_epochs >= recipe.epochs:
        raise UsageError(
            f"a warm-up of {recipe.warm_up_epochs:g} epochs leaves nothing of the {recipe.epochs:g}",
            "give --warm-up-epochs fewer than --epochs",
        )
    if recipe.evaluation_examples is not None and recipe.evaluation_examples < 1:
        raise UsageError("evaluation comes after at least one example", "give --eval-examples 1 or more")


def _check_shares(recipe: Recipe) -> None:
    if not 0 <= recipe.label_smoothing < 1:
        raise UsageError(
            f"label smoothing of {recipe.label_smoothing:g} leaves no label", "give --label-smoothing from 0 to below 1"
        )
    if not 0 < recipe.hold_out < 1:
        raise UsageError(f"{recipe.hold_out:g} of the examples cannot be held out", "give --hold-out between 0 and 1")
    if not all(0 < share < 1 for share in recipe.step_at) or list(recipe.step_at) != sorted(set(recipe.step_at)):
        raise UsageError(
            "the rate steps down at shares of the run, in order", "write --step-at as 0.5,0.75, each between 0 and 1"
        )


def _check_normalising(recipe: Recipe, settings: Settings) -> None:
    devices = recipe.emulated_devices
    if devices < 1 or settings.batch_size % devices:
        raise UsageError(
            f"a batch of {settings.batch_size} cannot be shared by {devices} emulated devices",
            "let --emulate-devices divide the batch size",
        )
    if devices > 1 and settings.devices > 1:
        raise UsageError(
            f"{devices} devices cannot be emulated by {settings.devices} real ones", "leave --emulate-devices away"
        )
    if recipe.batch_norm == "ghost" and recipe.ghost_size < 2:
        raise UsageError("a group of one example has nothing to normalise over", "give --ghost-size 2 or more")
    if recipe.batch_norm != "own" and devices > 1:
        raise UsageError(
            f"--emulate-devices shows devices that normalise on their own, not with --batch-norm {recipe.batch_norm}",
            "leave one of the two away",
        )
