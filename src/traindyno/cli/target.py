"""`traindyno target`."""

from typing import Any

import click

from traindyno.cli.embedded import LEARNING_DEFAULTS, rate_at, with_embedded_learning
from traindyno.cli.options import bench_options, given, learning_workload_options, take_bench, take_workload
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import PRICE, SWEEP, Parsed
from traindyno.cli.recipe_options import recipe_options, take_recipe
from traindyno.cli.setting_options import further_setting_options, take_settings, workers_option
from traindyno.core.errors import UsageError
from traindyno.core.learning import Target
from traindyno.core.rates_text import parse_rate_at
from traindyno.core.requests import TargetRequest

EMBEDDED_VALUES = {"accuracy": 0.95, "loss": 0.2}


@click.command("target")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, mlp:64 or file.py:function. [default: mlp:64 on digits:]",
)  # fmt: skip
@learning_workload_options
@click.option(
    "--metric", type=click.Choice(["accuracy", "loss"]), default="accuracy", show_default=True,
    help="What is to be reached, on the evaluation examples.",
)  # fmt: skip
@click.option(
    "--value", type=float, metavar="NUMBER",
    help="At least this accuracy, or at most this loss. [required, but for the embedded example]",
)  # fmt: skip
@click.option(
    "--batch-size", "sweep", type=SWEEP, default="16,64,256", show_default=True, metavar="SIZES",
    help="Sizes to compare, with the same settings otherwise; not by default where --contender is given.",
)  # fmt: skip
@click.option(
    "--contender", "contenders", multiple=True, metavar="NAME: SETTINGS",
    help='A way to train of any settings: "large: batch_size=256,precision=bf16,lr=0.2", or on several devices: '
    '"batch=64,devices=2"; may be given several times.',
)  # fmt: skip
@click.option(
    "--lr", type=Parsed("rate", parse_rate_at), metavar="RATE[@BATCH]",
    help="Learning rate and the batch it is for, such as 0.1@32. [default: of the smallest size]",
)  # fmt: skip
@click.option(
    "--lr-rule", "rule", type=click.Choice(["gain", "linear", "sqrt", "none"]), default="gain", show_default=True,
    help="Rates of other sizes: by the gradients' noise scale, in proportion to the batch, to its square root, or all "
    "the same.",
)  # fmt: skip
@click.option(
    "--noise-scale", type=float, metavar="N", help="For --lr-rule gain and --verify. [default: measured first]"
)
@click.option(
    "--seeds", type=int, default=6, show_default=True, metavar="N",
    help="Runs of each way to train; six are the fewest that give a median an interval.",
)  # fmt: skip
@click.option(
    "--verify", is_flag=True,
    help="Choose the batches by the noise scale and the timed step: a quarter of the best, the best, four times it.",
)  # fmt: skip
@click.option(
    "--price-per-hour", type=PRICE, metavar="PRICE", help="Price of one device; of several, each costs as much."
)
@recipe_options(rate=False, steps=False, evaluated="what a first run finds to be needed")
@workers_option
@further_setting_options
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, train nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Train in several ways until a target is reached, and say which is there first, in time, examples and cost.

    Only training counts: the clock stands still in evaluations, which come after equally many examples for all. The
    evaluation after the first that meets the target must meet it too. A run that does not get there within --epochs
    counts as infinite.
    """
    from traindyno.app.target import target
    from traindyno.cli.running import run

    output = Output.take(values, store)
    if model is None and values["value"] is None:
        values["value"] = EMBEDDED_VALUES[values["metric"]]
    model = with_embedded_learning(model, values, quiet=output.quiet)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.learning import rehearse_target

        return output.deliver_rehearsal(rehearse_target(request))
    return run(lambda context: target(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> TargetRequest:
    from traindyno.app.target import contenders_of, smallest_batch

    if values["value"] is None:
        raise UsageError("no target is given", "add --value, such as --value 0.9 for an accuracy of 90 %")
    sizes, bench, rate = _sizes(values), take_bench(values), rate_at(values["lr"])
    reference = rate.batch_size if rate is not None and rate.batch_size is not None else min(sizes, default=None)
    settings = take_settings(values, bench, reference or LEARNING_DEFAULTS["batch_size"])
    contenders = contenders_of(sizes, values["contenders"], settings)
    return TargetRequest(
        workload=take_workload(model, values),
        bench=bench,
        recipe=take_recipe(values, None if rate is None else rate.rate),
        target=Target(metric=values["metric"], value=values["value"]),
        contenders=contenders,
        seeds=values["seeds"],
        price_per_hour=values["price_per_hour"],
        verify=values["verify"],
        reference_batch=reference or smallest_batch(contenders),
        rule=values["rule"],
        noise_scale=values["noise_scale"],
        settings=settings,
    )


def _sizes(values: dict[str, Any]) -> tuple[int, ...]:
    """The sizes that were named; the default ones only where nothing else says what to compare."""
    from traindyno.app.target import target_sizes

    if not given("sweep") and (values["contenders"] or values["verify"]):
        return ()
    return target_sizes(values["sweep"])
