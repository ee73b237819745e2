"""`traindyno throughput`."""

from typing import Any

import click

from traindyno.cli.curve_options import curve_options, take_curve
from traindyno.cli.embedded import with_embedded
from traindyno.cli.options import bench_options, workload_options
from traindyno.cli.output import Output, output_options, report_option


@click.command("throughput")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function. [default: a small embedded one]",
)  # fmt: skip
@workload_options
@curve_options
@click.option(
    "--choose", type=click.Choice(["recommended", "fastest", "largest"]), default="recommended", show_default=True,
    help="recommended: the smallest batch as good as 97 % of the best.",
)  # fmt: skip
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, choose: str, dry_run: bool, **values: Any) -> int:
    """Measure examples per second against batch size, until memory is full.

    Data is resident on the device: this is what the hardware can do with the model, before any loader.
    """
    from traindyno.app.throughput import throughput
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = take_curve(with_embedded(model, values, output.quiet), values, choose)
    if dry_run:
        from traindyno.app.rehearsals.batches import rehearse_throughput

        return output.deliver_rehearsal(rehearse_throughput(request))
    return run(lambda context: throughput(request, context), output, store, name)
