"""`traindyno switches`."""

from typing import Any

import click

from traindyno.cli.options import bench_options, take_bench, take_workload, workload_options
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import MEASURING
from traindyno.cli.setting_options import setting_options, take_settings
from traindyno.core.requests import SwitchesRequest


@click.command("switches")
@click.option("--model", metavar="MODEL", required=True, help="torchvision:NAME, timm:NAME, ir:50 or file.py:function.")
@workload_options
@setting_options
@click.option("--only", multiple=True, metavar="NAME,...", help="Try these switches alone; may be given several times.")
@click.option("--skip", multiple=True, metavar="NAME,...", help="Leave these switches out; may be given several times.")
@click.option("--max-autotune", is_flag=True, help="Also compile with max-autotune, which takes minutes.")
@click.option(
    "--combine/--no-combine", default=True, show_default=True, help="Combine the switches that help, and measure again."
)
@click.option(
    "--check-losses/--no-check-losses", default=True, show_default=True,
    help="Train 100 steps with and without each switch, and recommend none that changes the loss.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1), default=2, show_default=True,
    help="Pairs of fresh processes per switch; the intervals cover the variation between them.",
)  # fmt: skip
@click.option(
    "--trial-seconds", type=MEASURING, default="3s", show_default=True, metavar="TIME",
    help="Longest measuring time of one pair that does not become precise.",
)  # fmt: skip
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Find which switches make training faster: precision, memory format, compiling, cuDNN, optimiser and others.

    Each is tried alone, in turns with the baseline. Then those that help are combined one by one, and the combination
    is measured against the baseline again. The baseline is what --batch-size, --precision, --set and so on say.
    """
    from traindyno.app.switches import switches
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.steps import rehearse_switches

        return output.deliver_rehearsal(rehearse_switches(request))
    return run(lambda context: switches(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> SwitchesRequest:
    from traindyno.app.switches import switch_names

    bench = take_bench(values)
    return SwitchesRequest(
        workload=take_workload(model, values),
        bench=bench,
        settings=take_settings(values, bench),
        only=switch_names(values["only"]),
        skip=switch_names(values["skip"]),
        max_autotune=values["max_autotune"],
        combine=values["combine"],
        check_losses=values["check_losses"],
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
    )
