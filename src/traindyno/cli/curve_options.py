"""Options of commands that measure a throughput curve."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traindyno.cli.options import TRIAL_SECONDS, take_bench, take_workload
from traindyno.cli.parameters import SHARE, SWEEP
from traindyno.core.requests import ThroughputRequest
from traindyno.core.sweeps import Sweep

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--batch-size", "sweep", type=SWEEP, default="max", show_default=True, metavar="SIZES",
        help="16,32,64 or 16..1024 or 16..max; max doubles from 1 until memory is full.",
    ),
    click.option(
        "--repeats", type=click.IntRange(1), default=3, show_default=True,
        help="Fresh processes per size; the interval covers the variation between them.",
    ),
    click.option(
        "--refine/--no-refine", default=True, show_default=True, help="Add sizes around the best and near the limit."
    ),
    TRIAL_SECONDS,
    click.option(
        "--margin", type=SHARE, default="5%", show_default=True, help="Memory a recommended batch leaves free."
    ),
)  # fmt: skip


def curve_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def take_curve(model: str, values: dict[str, Any], choose: str = "recommended") -> ThroughputRequest:
    """The curve that the options describe."""
    sweep: Sweep = values["sweep"]
    return ThroughputRequest(
        workload=take_workload(model, values),
        bench=take_bench(values),
        sizes=sweep.sizes,
        smallest=sweep.smallest,
        largest=sweep.largest,
        refine=values["refine"],
        repeats=values["repeats"],
        choose=choose,  # type: ignore[arg-type]
        margin=values["margin"],
        trial_seconds=values["trial_seconds"],
    )
