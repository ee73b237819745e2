"""`traindyno soak`."""

from typing import Any

import click

from traindyno.cli.options import bench_options, take_bench, take_workload, workload_options
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import PRICE
from traindyno.cli.setting_options import setting_options, take_settings
from traindyno.core.requests import SoakRequest


@click.command("soak")
@click.option("--model", metavar="MODEL", required=True, help="torchvision:NAME, timm:NAME, ir:50 or file.py:function.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True, help="How long to train."
)
@workload_options
@setting_options
@click.option(
    "--from-loader/--no-from-loader", default=None,
    help="Feed the training by the loader, epoch after epoch, or by one resident batch. "
    "[default: by the loader where --data is given]",
)  # fmt: skip
@click.option(
    "--epoch-examples", type=click.IntRange(1), metavar="N",
    help="Examples in an epoch, for energy and cost. [default: those of the data]",
)  # fmt: skip
@click.option("--price-per-hour", type=PRICE, metavar="PRICE", help="Price of this machine.")
@click.option("--price-per-kwh", type=PRICE, metavar="PRICE", help="Price of the GPU's energy.")
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Train for minutes and say whether it stays as fast: heat, power limit, pauses, neighbours, energy.

    The machine is read once a second beside the run. Stopped early, it answers for the time it had.
    """
    from traindyno.app.soak import soak
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.steps import rehearse_soak

        return output.deliver_rehearsal(rehearse_soak(request))
    return run(lambda context: soak(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> SoakRequest:
    from traindyno.app.anatomy import loads_by_default

    bench, workload = take_bench(values), take_workload(model, values)
    asked = values["from_loader"]
    return SoakRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(values, bench),
        run_seconds=60 * values["minutes"],
        from_loader=loads_by_default(workload) if asked is None else asked,
        epoch_examples=values["epoch_examples"],
        price_per_hour=values["price_per_hour"],
        price_per_kwh=values["price_per_kwh"],
    )
