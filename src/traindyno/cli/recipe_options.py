"""Options for how weights change in a run that learns, and the recipe they become."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traindyno.cli.options import given_now
from traindyno.cli.parameters import Parsed
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe

F = TypeVar("F", bound=Callable[..., Any])

_FIELDS = {
    "epochs": "epochs",
    "steps": "steps",
    "momentum": "momentum",
    "schedule": "schedule",
    "warm_up_epochs": "warm_up_epochs",
    "step_at": "step_at",
    "step_factor": "step_factor",
    "weight_decay": "weight_decay",
    "label_smoothing": "label_smoothing",
    "clip_norm": "clip_norm",
    "fine_tune": "fine_tuning",
    "weights": "weights",
    "batch_norm": "batch_norm",
    "ghost_size": "ghost_size",
    "emulate_devices": "emulated_devices",
    "eval_examples": "evaluation_examples",
    "hold_out": "hold_out",
}
"""The recipe's field for each option that has one of its own."""
_MATTERS_WITH = {
    "momentum": ("optimizer", "sgd"),
    "step_at": ("schedule", "step"),
    "step_factor": ("schedule", "step"),
    "ghost_size": ("batch_norm", "ghost"),
}
"""Options that say something only where another has this value."""


def parse_shares(text: str) -> tuple[float, ...]:
    """`0.5,0.75`: shares of a run."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{text!r} is not a list of shares", "write them as 0.5,0.75") from None


_RATE = click.option(
    "--lr", type=float, metavar="RATE",
    help="Learning rate, the schedule's highest. [required, but for the embedded example]",
)  # fmt: skip
_EPOCHS = click.option("--epochs", type=float, default=10.0, show_default=True, metavar="N", help="Length of a run.")
_STEPS = click.option("--steps", type=int, metavar="N", help="Length of a run in optimiser steps, instead of epochs.")
_OPTIONS = (
    click.option("--momentum", type=float, default=0.9, show_default=True, help="Of --optimizer sgd."),
    click.option(
        "--schedule", type=click.Choice(["cosine", "constant", "step"]), default="cosine", show_default=True,
        help="How the rate falls; every schedule ends with the run.",
    ),
    click.option(
        "--warm-up-epochs", type=float, default=0.0, show_default=True, metavar="N",
        help="The rate rises from near 0 for so long.",
    ),
    click.option(
        "--step-at", type=Parsed("shares", parse_shares), default="0.5,0.75", show_default=True, metavar="SHARES",
        help="Shares of the run at which --schedule step lowers the rate ...",
    ),
    click.option(
        "--step-factor", type=float, default=0.1, show_default=True, help="... and by how much it is multiplied there."
    ),
    click.option("--weight-decay", type=float, default=0.0, show_default=True, help="The optimiser's."),
    click.option("--label-smoothing", type=float, default=0.0, show_default=True, help="Of the training loss alone."),
    click.option("--clip-norm", type=float, metavar="LENGTH", help="Longest gradient. [default: any]"),
    click.option(
        "--fine-tune", type=click.Choice(["all", "head"]), default="all", show_default=True,
        help="Train the whole network or the last layer alone.",
    ),
    click.option(
        "--weights", type=click.Path(dir_okay=False), metavar="FILE",
        help="Begin with the weights in this file, as torch.save wrote them. [default: random ones]",
    ),
    click.option(
        "--batch-norm", type=click.Choice(["own", "sync", "ghost"]), default="own", show_default=True,
        help="Normalise over each device's own part of the batch, over all devices, or over groups of --ghost-size.",
    ),
    click.option("--ghost-size", type=int, default=32, show_default=True, help="Examples in such a group."),
    click.option(
        "--emulate-devices", type=int, default=1, show_default=True, metavar="N",
        help="Normalise as if the batch were shared by so many devices.",
    ),
    click.option(
        "--hold-out", type=float, default=0.2, show_default=True, metavar="SHARE",
        help="Share of the examples to evaluate on, where the data has no evaluation split of its own.",
    ),
)  # fmt: skip


def recipe_options(rate: bool = True, steps: bool = True, evaluated: str = "an epoch") -> Callable[[F], F]:
    """Everything that a recipe has; without `--lr` or `--steps` for commands which take them in another form or not.

    `evaluated` says when runs are evaluated by default.
    """
    evaluation = click.option(
        "--eval-examples", type=int, metavar="N",
        help=f"Evaluate after so many training examples. [default: {evaluated}]",
    )  # fmt: skip
    lengths = (_EPOCHS, _STEPS) if steps else (_EPOCHS,)

    def decorate(function: F) -> F:
        for option in reversed((*((_RATE,) if rate else ()), *lengths, *_OPTIONS, evaluation)):
            function = option(function)
        return function

    return decorate


def take_recipe(values: dict[str, Any], learning_rate: float | None = None) -> Recipe:
    """The recipe that the options describe. `learning_rate` stands in where `--lr` has another form.

    Weights are read here, so that a study can tell whether they are still the same.
    """
    from traindyno.app.weights import with_weights

    rate = values.get("lr") if learning_rate is None else learning_rate
    if rate is None:
        raise UsageError("no learning rate is given", "add --lr, such as --lr 0.1 for sgd or --lr 0.001 for adam")
    _check_told(values)
    told = {field: values[name] for name, field in _FIELDS.items() if name in values}
    if given_now("epochs"):
        told["steps"] = None  # those of the project file
    return with_weights(Recipe(learning_rate=rate, **told))


def _check_told(values: dict[str, Any]) -> None:
    """Refuse what would be left out in silence, if it was said with this very command."""
    if "steps" in values and given_now("epochs") and given_now("steps"):
        raise UsageError("a run has one length, in --epochs or in --steps", "leave one of the two away")
    for option, (other, needed) in _MATTERS_WITH.items():
        if given_now(option) and values[other] != needed:
            name, needs = (text.replace("_", "-") for text in (option, other))
            raise UsageError(f"--{name} only matters with --{needs} {needed}", f"leave --{name} away")
