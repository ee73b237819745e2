"""`traindyno stalls`."""

from typing import Any

import click

from traindyno.cli.options import (
    bench_options,
    local_ranks_option,
    take_bench,
    take_workload,
    trial_seconds_option,
    workload_options,
)
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.setting_options import batch_size_option, further_setting_options, take_settings
from traindyno.core.requests import StallsRequest


@click.command("stalls")
@click.option("--model", metavar="MODEL", required=True, help="torchvision:NAME, timm:NAME, ir:50 or file.py:function.")
@workload_options
@batch_size_option
@click.option(
    "--workers", type=click.IntRange(0), required=True, metavar="N",
    help="Loader workers of your training; `traindyno loader` recommends a number.",
)  # fmt: skip
@further_setting_options
@click.option(
    "--also", multiple=True, metavar="SOURCE",
    help="Another source of the same examples: memory: (the data in RAM), prepared:PATH; may be given several times.",
)  # fmt: skip
@click.option(
    "--cold/--no-cold", default=True, show_default=True, help="Also run with the data dropped from the page cache."
)
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True,
    help="Fresh processes per run; the interval covers the variation between them.",
)  # fmt: skip
@trial_seconds_option
@local_ranks_option
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Say what training waits for: reading, decoding, augmenting, handing over, moving, or nothing.

    The same step is run on data resident on the device, on batches cached in host memory, and fed by the loader with
    the page cache warm and cold. What a run takes longer than the one before is what its difference costs.
    """
    from traindyno.app.stalls import stalls
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.loading import rehearse_stalls

        return output.deliver_rehearsal(rehearse_stalls(request))
    return run(lambda context: stalls(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> StallsRequest:
    bench = take_bench(values)
    return StallsRequest(
        workload=take_workload(model, values),
        bench=bench,
        settings=take_settings(values, bench),
        also=values["also"],
        cold=values["cold"],
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
        local_ranks=values["local_ranks"],
    )
