"""`traindyno accuracy`."""

from typing import Any

import click

from traindyno.cli.embedded import rate_at, with_embedded_learning
from traindyno.cli.options import bench_options, given, learning_workload_options, take_bench, take_workload
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import Parsed
from traindyno.cli.recipe_options import recipe_options, take_recipe
from traindyno.cli.setting_options import further_setting_options, take_settings, workers_option
from traindyno.core.errors import UsageError
from traindyno.core.rates_text import parse_rate_at
from traindyno.core.requests import AccuracyRequest


def parse_sizes(text: str) -> tuple[int, ...]:
    from traindyno.app.accuracy import accuracy_sizes

    return accuracy_sizes(text)


@click.command("accuracy")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, mlp:64 or file.py:function. [default: mlp:64 on digits:]",
)  # fmt: skip
@learning_workload_options
@click.option(
    "--batch-size", "sizes", type=Parsed("sizes", parse_sizes), default="32,64,128,256", show_default=True,
    metavar="SIZES", help="The sizes to compare: 32,64,128 or 16..256.",
)  # fmt: skip
@click.option(
    "--lr", type=Parsed("rate", parse_rate_at), metavar="RATE[@BATCH]",
    help="Learning rate and the batch it is for, such as 3e-4@32; without one, the smallest. "
    "[required, but for the embedded example]",
)  # fmt: skip
@click.option(
    "--lr-rule", "rule", type=click.Choice(["gain", "linear", "sqrt", "none", "tune"]), default="gain",
    show_default=True,
    help="Rates of the other sizes: by the gradients' noise scale, in proportion to the batch, to its square root, all "
    "the same, or each looked for, which alone is fair.",
)  # fmt: skip
@click.option(
    "--equal", type=click.Choice(["epochs", "steps"]), default="epochs", show_default=True,
    help="What all sizes have as many of as the batch of --lr.",
)  # fmt: skip
@click.option("--seeds", type=int, default=3, show_default=True, metavar="N", help="Runs of each size that count.")
@click.option(
    "--tuning-seeds", type=int, default=2, show_default=True, metavar="N",
    help="Runs of each rate that --lr-rule tune tries; they do not count.",
)  # fmt: skip
@click.option(
    "--noise-scale", type=float, metavar="N",
    help="For --lr-rule gain, or for tune to begin with. [default: measured first; tune begins by the square root]",
)  # fmt: skip
@recipe_options(rate=False)
@workers_option
@further_setting_options
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, train nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Train at several batch sizes with several seeds each, and say what a larger batch costs in accuracy.

    What counts is the accuracy at the end of each run. Rows are compared by a test that knows how far seeds differ, and
    where it shows nothing, it says how large a difference it would have shown.
    """
    from traindyno.app.accuracy import accuracy
    from traindyno.cli.running import run

    output = Output.take(values, store)
    model = with_embedded_learning(model, values, quiet=output.quiet)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.learning import rehearse_accuracy

        return output.deliver_rehearsal(rehearse_accuracy(request))
    return run(lambda context: accuracy(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> AccuracyRequest:
    if given("tuning_seeds") and values["rule"] != "tune":
        raise UsageError("--tuning-seeds only matters with --lr-rule tune", "leave --tuning-seeds away")
    sizes, bench, rate = values["sizes"], take_bench(values), rate_at(values["lr"])
    reference = min(sizes) if rate is None or rate.batch_size is None else rate.batch_size
    return AccuracyRequest(
        workload=take_workload(model, values),
        bench=bench,
        settings=take_settings(values, bench, min(sizes)),
        sizes=sizes,
        recipe=take_recipe(values, None if rate is None else rate.rate),
        reference_batch=reference,
        rule=values["rule"],
        equal=values["equal"],
        seeds=values["seeds"],
        noise_scale=values["noise_scale"],
        tuning_seeds=values["tuning_seeds"],
    )
