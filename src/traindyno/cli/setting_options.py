"""Options for the settings of one run, and the record they become."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traindyno.cli.options import given_now
from traindyno.core.records import Settings
from traindyno.core.requests import Bench
from traindyno.core.settings_text import WITH_OPTIONS, parse_knobs

F = TypeVar("F", bound=Callable[..., Any])

_BATCH_SIZE = click.option(
    "--batch-size", type=click.IntRange(1), default=64, show_default=True, help="Examples per step."
)
_WORKERS = click.option(
    "--workers", type=click.IntRange(0), default=0, show_default=True, metavar="N",
    help="Loader workers of your training; `traindyno loader` recommends a number.",
)  # fmt: skip
_FURTHER = (
    click.option(
        "--prefetch-factor", type=click.IntRange(1), default=2, show_default=True, help="Batches each worker is ahead."
    ),
    click.option(
        "--pin-memory/--no-pin-memory", default=False,
        help="Pin the loader's batches, as DataLoader(pin_memory=True) does. [default: no]",
    ),
    click.option(
        "--decoder", type=click.Choice(["pil", "torchvision", "simplejpeg", "nvjpeg"]), default="pil",
        show_default=True, help="Who turns JPEG into pixels; nvjpeg does so on the GPU.",
    ),
    click.option(
        "--set", "knobs", multiple=True, metavar="NAME=VALUE",
        help="Another setting of the run: memory_format=channels_last, compile=default, cudnn_benchmark=true, "
        "optimizer_kernel=fused ...; may be given several times.",
    ),
)  # fmt: skip


def setting_options(function: F) -> F:
    """Every setting of a run, its batch size and workers among them."""
    return _BATCH_SIZE(_WORKERS(further_setting_options(function)))


def batch_size_option(function: F) -> F:
    return _BATCH_SIZE(function)


def workers_option(function: F) -> F:
    return _WORKERS(function)


def further_setting_options(function: F) -> F:
    """All but `--batch-size` and `--workers`, for commands that have these in another form."""
    for option in reversed(_FURTHER):
        function = option(function)
    return function


def given_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The settings that the user gave an option for with this command, by name."""
    options = {name: option.lstrip("-").replace("-", "_") for name, option in WITH_OPTIONS.items()}
    named = {name: option for name, option in options.items() if name not in ("device", "devices")}
    knobs = parse_knobs(values["knobs"]) if given_now("knobs") else {}
    return {name: values[option] for name, option in named.items() if given_now(option)} | knobs


def take_settings(values: dict[str, Any], bench: Bench, batch_size: int | None = None) -> Settings:
    """The settings that the options describe. `batch_size` stands in where `--batch-size` has another form."""
    return Settings(
        batch_size=values["batch_size"] if batch_size is None else batch_size,
        precision=bench.precision,
        num_workers=values["workers"],
        prefetch_factor=values["prefetch_factor"],
        pin_memory=values["pin_memory"],
        decoder=values["decoder"],
        **parse_knobs(values["knobs"]),
    )
