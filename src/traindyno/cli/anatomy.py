"""`traindyno anatomy`."""

from typing import Any

import click

from traindyno.cli.options import bench_options, take_bench, take_workload, trial_seconds_option, workload_options
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import SWEEP
from traindyno.cli.setting_options import further_setting_options, take_settings, workers_option
from traindyno.core.requests import AnatomyRequest


@click.command("anatomy")
@click.option("--model", metavar="MODEL", required=True, help="torchvision:NAME, timm:NAME, ir:50 or file.py:function.")
@workload_options
@click.option(
    "--batch-size", "sweep", type=SWEEP, default="64", show_default=True, metavar="SIZES",
    help="64, or several as 1,8,64 or 16..256. The answer is about the largest that fits, the others beside it.",
)  # fmt: skip
@workers_option
@further_setting_options
@click.option(
    "--from-loader/--no-from-loader", default=None,
    help="Feed the steps by the loader, or from finished batches in host memory. "
    "[default: by the loader where --data is given]",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True,
    help="Fresh processes per size; the interval covers the variation between them.",
)  # fmt: skip
@click.option("--trace", metavar="FILE", help="Write a few steps in Chrome's trace format: .json, or .json.gz.")
@trial_seconds_option
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Take the step apart: loading, moving, forward, backward, optimiser, per step and per example.

    The phases are timed on the device's own clock, without holding it up, by turns with steps that carry no
    instruments: what these cost is printed. It also says how idle the device is, whether the host is the limit, and
    what share of the hardware is used.
    """
    from traindyno.app.anatomy import anatomy
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.steps import rehearse_anatomy

        return output.deliver_rehearsal(rehearse_anatomy(request))
    return run(lambda context: anatomy(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> AnatomyRequest:
    from traindyno.app.anatomy import anatomy_sizes, loads_by_default

    bench, workload = take_bench(values), take_workload(model, values)
    about, others = anatomy_sizes(values["sweep"])
    asked = values["from_loader"]
    return AnatomyRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(values, bench, about),
        sizes=others,
        from_loader=loads_by_default(workload) if asked is None else asked,
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
        trace=values["trace"],
    )
