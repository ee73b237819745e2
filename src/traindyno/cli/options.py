"""Options that several commands share, and the records they become."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traindyno.app.context import DEFAULT_STORE
from traindyno.cli.parameters import BUDGET, MEASURING, MEMORY, SEED
from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.core.requests import Bench

F = TypeVar("F", bound=Callable[..., Any])
SYNTHETIC = "synthetic:"

_STORE = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, metavar="URL", help="Where studies are kept."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")

_SOURCES = "folder:PATH, cifar10:PATH, shards:PATTERN, prepared:PATH, digits:"
_DATA = click.option(
    "--data", metavar="SOURCE",
    help=f"{_SOURCES}, memory:SOURCE or synthetic:. [default: synthetic:, or the data of file.py:function]",
)  # fmt: skip
_LEARNING_DATA = click.option(
    "--data", metavar="SOURCE",
    help=f"{_SOURCES} or memory:SOURCE. [default: the data of file.py:function; digits: without --model]",
)  # fmt: skip
_INPUT = (
    click.option("--skip-bad", is_flag=True, help="Count and leave out examples that cannot be read."),
    click.option(
        "--image-size", type=click.IntRange(1), metavar="PIXELS",
        help="Side of the square input. [default: the model's own]",
    ),
    click.option("--classes", type=click.IntRange(2), help="Number of classes. [default: the model's own]"),
)  # fmt: skip
_OPTIMIZERS = click.Choice(["sgd", "adam", "adamw"])
_OPTIMIZER = click.option(
    "--optimizer", type=_OPTIMIZERS, default="sgd", show_default=True, help="Optimiser; sgd has momentum 0.9."
)
_LEARNING_OPTIMIZER = click.option(
    "--optimizer", type=_OPTIMIZERS, default="sgd", show_default=True, help="Optimiser; --momentum is that of sgd."
)
_MODE = click.option(
    "--mode", type=click.Choice(["train", "infer"]), default="train", show_default=True,
    help="Training step or forward pass.",
)  # fmt: skip
_STRIDE = click.option(
    "--conv1-stride", type=click.IntRange(1, 2), help="Stride of the first convolution (ir: models only)."
)
_WORKLOAD = (_DATA, *_INPUT, _OPTIMIZER, _MODE, _STRIDE)
_LEARNING_WORKLOAD = (_LEARNING_DATA, *_INPUT, _LEARNING_OPTIMIZER, _STRIDE)
_DEVICE = click.option("--device", metavar="DEVICE", help="cuda, cuda:1 or cpu. [default: the first GPU, else cpu]")
_PRECISION = click.option(
    "--precision", type=click.Choice(["fp32", "bf16", "fp16"]), default="fp32", show_default=True,
    help="bf16 and fp16 use mixed precision; fp16 scales the loss.",
)  # fmt: skip
_SEED = click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of weights, data and order.")
_EXECUTOR = (
    click.option(
        "--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True,
        help="Where trials run: on this machine, or over a Ray cluster.",
    ),
    click.option(
        "--address", metavar="HOST:PORT",
        help="The Ray cluster's head. [default: RAY_ADDRESS, else a Ray of this machine alone]",
    ),
)  # fmt: skip
_LIMITS = (
    click.option(
        "--memory-limit", type=MEMORY, metavar="BYTES",
        help="Memory a trial may take. [default: all of a GPU; half of what is free on a CPU]",
    ),
    click.option("--step-timeout", type=MEASURING, metavar="TIME", help="A step that takes longer is a hang."),
    click.option("--trial-timeout", type=MEASURING, metavar="TIME", help="Limit of one whole trial. [default: 1h]"),
    click.option(
        "--runner", default="fork", show_default=True, metavar="RUNNER", help="fork, spawn or simulated[:limit=N,...]."
    ),
    *_EXECUTOR,
)  # fmt: skip
_NAME = click.option("--name", metavar="NAME", help="Name of the study. [default: made from the command and the time]")
TRIAL_SECONDS: Callable[[Any], Any] = click.option(
    "--trial-seconds", type=MEASURING, default="5s", show_default=True, metavar="TIME",
    help="Longest measuring time of one trial that does not become precise.",
)  # fmt: skip
_LOCAL_RANKS = click.option(
    "--local-ranks", type=click.IntRange(1), default=1, envvar="LOCAL_WORLD_SIZE", metavar="N",
    help="Processes that train like this one on this machine and share its CPUs. [default: LOCAL_WORLD_SIZE, else 1]",
)  # fmt: skip


def _time_budget(default: str | None = None) -> Callable[[Any], Any]:
    return click.option(
        "--time-budget", type=BUDGET, default=default, show_default=default is not None, metavar="TIME",
        help="Stop after this long, with the answer so far.",
    )  # fmt: skip


def workload_options(function: F) -> F:
    return _apply(_WORKLOAD, function)


def learning_workload_options(function: F) -> F:
    """For commands that train until something is learnt, which made-up data and a forward pass do not teach."""
    return _apply(_LEARNING_WORKLOAD, function)


def bench_options(function: F) -> F:
    return _apply((_DEVICE, _PRECISION, _SEED, _time_budget(), *_LIMITS, _NAME), function)


def limited_bench_options(time_budget: str) -> Callable[[F], F]:
    """For a command that goes on as long as it may, and so has a budget unless another is given."""
    return lambda function: _apply((_DEVICE, _PRECISION, _SEED, _time_budget(time_budget), *_LIMITS, _NAME), function)


def bench_options_without_precision(function: F) -> F:
    """For a command that is told of the precision in another way."""
    return _apply((_DEVICE, _SEED, _time_budget(), *_LIMITS, _NAME), function)


def round_bench_options(function: F) -> F:
    """For a round, whose file has its name and its precision."""
    return _apply((_DEVICE, _SEED, _time_budget(), *_LIMITS), function)


def local_ranks_option(function: F) -> F:
    return _apply((_LOCAL_RANKS,), function)


def trial_seconds_option(function: F) -> F:
    return _apply((TRIAL_SECONDS,), function)


def store_options(function: F) -> F:
    return _apply((_STORE, _JSON), function)


def _apply(options: tuple[Callable[[F], F], ...], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def given(name: str) -> bool:
    """Whether the user said something about a parameter, on the command line or in the project file."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def given_now(name: str) -> bool:
    """Whether the user said it with this very command, and not once and for all in the project file."""
    unsaid = (click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP)
    return click.get_current_context().get_parameter_source(name) not in unsaid


def take_bench(values: dict[str, Any]) -> Bench:
    """Remove the bench's options from the parsed values and make the record of them."""
    executor, address = values.pop("executor"), values.pop("address")
    if address is not None and executor != "ray":
        raise UsageError("--address names a Ray cluster, and trials run on this machine", "add --executor ray")
    return Bench(
        executor=executor,
        address=address,
        device=values.pop("device") or "auto",
        precision=values.pop("precision", "fp32"),
        seed=values.pop("seed"),
        runner=values.pop("runner"),
        time_budget_seconds=values.pop("time_budget"),
        memory_limit_bytes=values.pop("memory_limit"),
        step_timeout_seconds=values.pop("step_timeout"),
        trial_timeout_seconds=values.pop("trial_timeout"),
    )


def take_workload(model: str, values: dict[str, Any]) -> WorkloadSpec:
    """The workload that the options describe; a user's file is fingerprinted, so that resuming can compare."""
    from traindyno.app.sources import hash_source

    return WorkloadSpec(
        model=model,
        mode=values.get("mode", "train"),
        data=values["data"] or SYNTHETIC,
        image_size=values["image_size"],
        classes=values["classes"],
        optimizer=values["optimizer"],
        conv1_stride=values["conv1_stride"],
        source_sha256=hash_source(model),
        skip_bad=values["skip_bad"],
    )
