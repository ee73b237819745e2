"""`traindyno verify`."""

from typing import Any

import click

from traindyno.cli.options import bench_options_without_precision, take_bench
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import MEASURING


@click.command("verify")
@click.argument("settings", type=click.Path())
@click.option("--model", "models", multiple=True, metavar="FILE:FUNCTION", help="Name the code of your own again.")
@click.option(
    "--data", multiple=True, metavar="SOURCE",
    help="Where the file's data lies here; OLD=NEW where baseline and recommended settings read from two sources.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(2), default=5, show_default=True,
    help="Rounds of both; the intervals cover the variation between processes.",
)  # fmt: skip
@click.option(
    "--trial-seconds", type=MEASURING, default="3s", show_default=True, metavar="TIME",
    help="Longest measuring time of one trial that does not become precise.",
)  # fmt: skip
@bench_options_without_precision
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(settings: str, models: tuple[str, ...], store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Run the settings in the file SETTINGS, which `find` wrote, against their baseline again, later or elsewhere.

    Both train from their data end to end, in fresh processes by turns. The exit code is 1 if the gain does not hold.
    """
    from traindyno.app.sources import hash_source
    from traindyno.app.verify import verify, verify_request
    from traindyno.cli.running import run

    output = Output.take(values, store)
    named = tuple((model, hash_source(model)) for model in models)
    bench, repeats, trial_seconds = take_bench(values), values["repeats"], values["trial_seconds"]
    request = verify_request(settings, bench, named, repeats=repeats, trial_seconds=trial_seconds, data=values["data"])
    if dry_run:
        from traindyno.app.rehearsals.finding import rehearse_verify

        return output.deliver_rehearsal(rehearse_verify(request))
    return run(lambda context: verify(request, context), output, store, name)
