"""The embedded default workload: what a command without `--model` runs on, small enough for any machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from traindyno.cli.options import given
from traindyno.core.errors import UsageError
from traindyno.core.rates_text import RateAt
from traindyno.core.sweeps import Sweep

MODEL = "torchvision:resnet18"
DEFAULTS: dict[str, Any] = {
    "image_size": 64,
    "classes": 10,
    "sweep": Sweep(smallest=1, largest=64),
    "trial_seconds": 3.0,
    "limit": 256,
}
SEARCH_MODEL = "torchvision:squeezenet1_1"
"""So small that a step takes about as long as loading its batch: there is something to gain on both sides."""
SEARCH_DEFAULTS: dict[str, Any] = {**DEFAULTS, "batch_size": 32, "trial_seconds": 1.0, "time_budget": 100.0}
DEVICES_DEFAULTS: dict[str, Any] = {
    **DEFAULTS,
    "global_batch": (16, 32),
    "trial_seconds": 1.0,
    "time_budget": 110.0,
}
LEARNING_MODEL, LEARNING_DATA = "mlp:64", "digits:"
LEARNING_DEFAULTS: dict[str, Any] = {"batch_size": 32, "epochs": 20.0}
LEARNING_RATES = {"sgd": 0.05, "adam": 0.002, "adamw": 0.002}
"""At the embedded batch, by optimiser."""
SAMPLE_IMAGES = 512
IMAGES_PER_CLASS = 2
"""One for each of the splits."""


def with_embedded(model: str | None, values: dict[str, Any], quiet: bool) -> str:
    """The model to run. Without one, options that the user left alone become those of the embedded workload."""
    if model is not None:
        return model
    _fill_in(values, DEFAULTS)
    if not quiet:
        click.echo(f"no --model given: showing {MODEL} at {values['image_size']} px", err=True)
    return MODEL


def with_embedded_devices(model: str | None, values: dict[str, Any], quiet: bool) -> str:
    """The same for training on several devices; a batch that the user named is not joined by another."""
    if model is not None:
        return model
    unsaid = ("global_batch",) if values["batch_per_device"] else ()
    _fill_in(values, {name: value for name, value in DEVICES_DEFAULTS.items() if name not in unsaid})
    if not quiet:
        click.echo(f"no --model given: showing {SEARCH_MODEL} at {values['image_size']} px", err=True)
    return SEARCH_MODEL


def with_embedded_search(model: str | None, values: dict[str, Any], store: str, *, quiet: bool) -> str:
    """The same for a search, whose embedded workload trains on JPEGs beside the store; see `make_search_sample`."""
    if model is not None:
        return model
    if values["data"] is not None or values["baseline"] != "default":
        raise UsageError(
            f"no --model is named for {values['data'] or values['baseline']}",
            "add one, such as --model torchvision:resnet50; without any of these an embedded example is shown",
        )
    _fill_in(values, SEARCH_DEFAULTS)
    folder = _sample_folder(store, values["classes"])
    values["data"] = f"folder:{folder}"
    if not quiet:
        images = _sample_images(values["classes"])
        told = f"{SEARCH_MODEL} at {values['image_size']} px, on {images:,} generated JPEGs in {folder}"
        click.echo(f"no --model given: showing {told}", err=True)
    return SEARCH_MODEL


def make_search_sample(classes: int, store: str, *, quiet: bool) -> None:
    """Make those JPEGs, once; it takes a while, so that what was asked for should be known to make sense."""
    from traindyno.app.library import check_store

    check_store(store)
    _make_sample(_sample_folder(store, classes), classes, quiet)


def with_embedded_learning(
    model: str | None, values: dict[str, Any], *, quiet: bool, defaults: Mapping[str, Any] | None = None
) -> str:
    """The same for training that learns something: handwritten digits, which need nothing on disk.

    `defaults` are further ones of the command's own, such as for a `--lr` of another form.
    """
    if model is not None:
        return model
    if values["data"] not in (None, LEARNING_DATA):
        raise UsageError(
            f"no --model is named for {values['data']}",
            "add one, such as --model torchvision:resnet18; without both an embedded example is shown",
        )
    usual = {**LEARNING_DEFAULTS, "lr": LEARNING_RATES[values["optimizer"]]}
    _fill_in(values, usual | dict(defaults or {}))
    values["data"] = LEARNING_DATA
    if not quiet:
        click.echo(f"no --model given: showing {LEARNING_MODEL} on {LEARNING_DATA} (scikit-learn's digits)", err=True)
    return LEARNING_MODEL


def _fill_in(values: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    values.update({name: value for name, value in defaults.items() if name in values and not given(name)})


def _sample_folder(store: str, classes: int) -> Path:
    from traindyno.app.library import store_folder

    return store_folder(store) / ".traindyno" / f"sample-{_sample_images(classes)}-{classes}"


def _sample_images(classes: int) -> int:
    """As many as usual, or more where there are so many classes."""
    return max(SAMPLE_IMAGES, IMAGES_PER_CLASS * classes)


def _make_sample(folder: Path, classes: int, quiet: bool) -> None:
    from traindyno.app import data
    from traindyno.cli.counting import working

    images = _sample_images(classes)
    request = data.make_request(like="imagenet", images=images, classes=classes, val_share=None, seed=0)
    if data.is_made(folder, request):
        return
    with working("images", quiet) as (listener, should_stop):
        data.make(folder, request, data.usable_processes(None), listener, should_stop)


def rate_at(asked: RateAt | float | None) -> RateAt | None:
    """What `--lr` says. A plain number is the embedded example's, for its batch."""
    return RateAt(rate=asked, batch_size=LEARNING_DEFAULTS["batch_size"]) if isinstance(asked, float) else asked
