"""The embedded default workload: what a command without `--model` runs on, small enough for any machine."""

from typing import Any

import click

from traindyno.core.sweeps import Sweep

MODEL = "torchvision:resnet18"
DEFAULTS: dict[str, Any] = {
    "image_size": 64,
    "classes": 10,
    "sweep": Sweep(smallest=1, largest=64),
    "trial_seconds": 3.0,
    "limit": 256,
}


def with_embedded(model: str | None, values: dict[str, Any], quiet: bool) -> str:
    """The model to run. Without one, options that the user left alone become those of the embedded workload."""
    if model is not None:
        return model
    context = click.get_current_context()
    untouched = (click.core.ParameterSource.DEFAULT,)
    for name, value in DEFAULTS.items():
        if name in values and context.get_parameter_source(name) in untouched:
            values[name] = value
    if not quiet:
        click.echo(f"no --model given: showing {MODEL} at {values['image_size']} px", err=True)
    return MODEL
