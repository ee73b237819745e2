"""`traindyno round first`."""

from typing import Any

import click

from traindyno.cli.embedded import LEARNING_DATA, LEARNING_MODEL
from traindyno.cli.options import SYNTHETIC, round_bench_options, take_bench
from traindyno.cli.output import Output, output_options, report_option
from traindyno.core.errors import UsageError

_OF_WORKLOAD = ("optimizer", "image_size", "classes", "conv1_stride")


@click.command("first")
@click.option(
    "--model", metavar="MODEL",
    help="The smallest that will do: torchvision:NAME, mlp:64 or file.py:function. [default: mlp:64 on digits:]",
)  # fmt: skip
@click.option(
    "--data", metavar="SOURCE",
    help="folder:PATH, cifar10:PATH, shards:PATTERN, prepared:PATH or digits:. [default: the data of file.py:function]",
)  # fmt: skip
@click.option("--optimizer", type=click.Choice(["sgd", "adam", "adamw"]), default="sgd", show_default=True)
@click.option("--image-size", type=click.IntRange(1), metavar="PIXELS", help="[default: the model's own]")
@click.option("--classes", type=click.IntRange(2), help="Number of classes. [default: the data's own]")
@click.option("--conv1-stride", type=click.IntRange(1, 2), help="Of the first convolution (ir: models only).")
@click.option("--batch-size", type=click.IntRange(1), default=64, show_default=True, help="Examples per step.")
@click.option(
    "--epochs", type=float, default=5.0, show_default=True, metavar="N",
    help="Length of a run; few, for the best rate depends on it.",
)  # fmt: skip
@click.option("--rates", type=click.IntRange(2), default=8, show_default=True, metavar="N", help="Rates to try.")
@click.option("--campaign", default="default", show_default=True, help="Rounds that build on one another share one.")
@click.option("--name", metavar="NAME", help="Name of the study. [default: first, or CAMPAIGN.first]")
@click.option("--processes", type=int, default=1, show_default=True, metavar="N", help="Processes that share the CPUs.")
@round_bench_options
@report_option
@output_options
def command(
    model: str | None,
    batch_size: int,
    epochs: float,
    rates: int,
    campaign: str,
    name: str | None,
    processes: int,
    store: str,
    **values: Any,
) -> int:
    """Find a configuration to begin with: a constant rate, no decay, no warm-up, a small model, few epochs.

    Rates over three decades are tried. The best run must be clearly better than guessing, and its loss must fall; then
    it is the first entry of the campaign's ledger, and what later rounds have to beat.
    """
    from traindyno.app.rounds.first import first, first_round
    from traindyno.app.rounds.requests import request_of
    from traindyno.cli.running import run

    output = Output.take(values, store)
    model, data = _workload(model, values.pop("data"))
    given = {field: value for field in _OF_WORKLOAD if (value := values.pop(field)) is not None}
    job = {"batch_size": batch_size, "epochs": epochs, **given}
    round_ = first_round(model, data, job, campaign=campaign, name=name, rates=rates)
    request = request_of(round_, take_bench(values))
    return run(lambda context: first(request, context, processes), output, store, None)


def _workload(model: str | None, data: str | None) -> tuple[str, str]:
    """What is trained on what; without either, an example that any machine can do."""
    if model is None and data is None:
        return LEARNING_MODEL, LEARNING_DATA
    if model is None:
        raise UsageError(f"no --model is named for {data}", "name the smallest that will do, such as --model mlp:64")
    return model, data or SYNTHETIC
