"""The options that repeat a recipe in another command, ready to be typed."""

import msgspec

from traindyno.core.learning import Recipe

OPTIONS = {
    "fine_tuning": "--fine-tune",
    "emulated_devices": "--emulate-devices",
    "evaluation_examples": "--eval-examples",
}
"""Fields whose option has another name."""
OTHERWISE_TOLD = ("learning_rate", "weights_sha256", "target")


def recipe_words(recipe: Recipe, rate: str | None = None, *, length: bool = True) -> list[str]:
    """The recipe in options; what is a default is left out.

    `rate` stands in where `--lr` has another form, such as `0.1@32`, and nothing of it is told if that is empty.
    Without `length` neither epochs nor steps are told.
    """
    rate = f"{recipe.learning_rate:.12g}" if rate is None else rate
    words = ["--lr", rate] if rate else []
    told_length = "epochs" if recipe.steps is None else "steps"
    words += [f"--{told_length}", _written(getattr(recipe, told_length))] if length else []
    for field in msgspec.structs.fields(Recipe):
        value = getattr(recipe, field.name)
        if field.name not in (*OTHERWISE_TOLD, "epochs", "steps") and value != field.default:
            words += [OPTIONS.get(field.name, f"--{field.name.replace('_', '-')}"), _written(value)]
    return words


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(_written(item) for item in value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)
