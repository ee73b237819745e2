"""What to type after one run: a question that it can answer, about sizes that the data has."""

import math
import shlex

import msgspec

from traindyno.analysis.commands import device_words, settings_words, workload_words
from traindyno.analysis.recipe_words import recipe_words
from traindyno.analysis.training import learnt_nothing, was_finite
from traindyno.core.learning import Learning, NoisePlan, Recipe
from traindyno.core.requests import Bench, TrainRequest
from traindyno.report.reproduce import request_command

LARGER = 4
"""The next question is what a batch so many times as large would cost."""
STEEP = 10
"""The rate, or the length, of another try is so many times as large or as small."""
FEW_STEPS = 1000
"""A run of fewer that learnt nothing may only have been too short."""


def next_command(request: TrainRequest, asked: Bench, learning: Learning) -> str | None:
    """After a run without success the same with another recipe, else a comparison of batch sizes; null if none can be.

    Where the loss never was a number no recipe helps. `asked` is the bench as the user described it.
    """
    if learning.diverged:
        return _once_more(request, asked, _with_rate(request.recipe, 1 / STEEP)) if was_finite(learning) else None
    if learnt_nothing(learning):
        few = learning.planned_steps < FEW_STEPS
        return _once_more(request, asked, _longer(request.recipe) if few else _with_rate(request.recipe, STEEP))
    if (sizes := _sizes(request, learning)) is None:
        return None
    if learning.evaluations[-1].accuracy is not None:
        return _command("accuracy", request, asked, sizes, request.recipe)
    if (value := _reachable_loss(learning)) is None:
        return None
    aim = ["--metric", "loss", "--value", f"{value:.12g}"]
    return _command("target", request, asked, sizes, _in_epochs(request, learning), aim)


def _with_rate(recipe: Recipe, factor: float) -> Recipe:
    return msgspec.structs.replace(recipe, learning_rate=float(f"{recipe.learning_rate * factor:.12g}"))


def _longer(recipe: Recipe) -> Recipe:
    if recipe.steps is not None:
        return msgspec.structs.replace(recipe, steps=STEEP * recipe.steps)
    return msgspec.structs.replace(recipe, epochs=float(f"{STEEP * recipe.epochs:.12g}"))


def _once_more(request: TrainRequest, asked: Bench, recipe: Recipe) -> str:
    """In folders of its own: those of the first run are in use."""
    return request_command(
        msgspec.structs.replace(request, recipe=recipe, bench=asked, checkpoints=None, tensorboard=None)
    )


def _sizes(request: TrainRequest, learning: Learning) -> tuple[int, int] | None:
    """The run's own size and a larger one, or half of it where the data has no more; null where neither can be."""
    size, parts = request.settings.batch_size, request.settings.accumulation_steps
    divisor = math.lcm(parts, request.recipe.emulated_devices)
    if not _noise_can_be_read(request, learning):
        return None
    if LARGER * size <= learning.training_examples:
        return size, LARGER * size
    return (size // 2, size) if size % (2 * divisor) == 0 else None


def _noise_can_be_read(request: TrainRequest, learning: Learning) -> bool:
    """Rates of other sizes follow from the gradients' noise, for which there must be two micro-batches."""
    normalises = learning.norm_examples is not None
    devices = request.recipe.emulated_devices if normalises else 1
    return 2 * devices * NoisePlan().examples_together(normalises) <= learning.training_examples


def _reachable_loss(learning: Learning) -> float | None:
    """What the last two evaluations were both at or below, in three digits; a target must be met twice in a row."""
    highest = max(evaluation.loss for evaluation in learning.evaluations[-2:])
    if not 0 < highest < math.inf:
        return None
    digit = 10.0 ** (math.floor(math.log10(highest)) - 2)
    return math.ceil(highest / digit) * digit


def _in_epochs(request: TrainRequest, learning: Learning) -> Recipe:
    """Races to a target are that long, and find out themselves how often to evaluate."""
    epochs = learning.planned_steps * request.settings.batch_size / learning.training_examples
    recipe = msgspec.structs.replace(request.recipe, evaluation_examples=None)
    return recipe if recipe.steps is None else msgspec.structs.replace(recipe, steps=None, epochs=round(epochs, 3))


def _command(
    name: str,
    request: TrainRequest,
    asked: Bench,
    sizes: tuple[int, int],
    recipe: Recipe,
    aim: list[str] | None = None,
) -> str:
    workload = [*workload_words(request.workload, asked), *device_words(asked), *settings_words(request.settings)]
    rate = f"{recipe.learning_rate:.12g}@{request.settings.batch_size}"
    words = ["--batch-size", ",".join(map(str, sizes)), *(aim or ()), *workload, *recipe_words(recipe, rate)]
    return shlex.join(["traindyno", name, *words])
