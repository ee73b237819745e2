"""`traindyno round run`."""

from typing import Any

import click

from traindyno.cli.options import round_bench_options, take_bench
from traindyno.cli.output import Output, output_options, report_option


@click.command("run")
@click.argument("file", type=click.Path())
@click.option(
    "--processes", type=int, default=1, show_default=True, metavar="N",
    help="Run it with so many processes here, which share the CPUs.",
)  # fmt: skip
@round_bench_options
@click.option("--dry-run", is_flag=True, help="Print roles, arms and the number of runs, train nothing.")
@report_option
@output_options
def command(file: str, processes: int, store: str, dry_run: bool, **values: Any) -> int:
    """Search the round in FILE: first the incumbent as a gate, then every arm with the same budget.

    The study has the round's name. The same command goes on with a round that was cut off, takes part in one that is
    running in another terminal, and adds to a finished one when its file has wider ranges or more trials by now.
    """
    from traindyno.app.rounds.files import read_round
    from traindyno.app.rounds.requests import request_of
    from traindyno.app.rounds.run import run_round
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = request_of(read_round(file), take_bench(values))
    if dry_run:
        from traindyno.app.rehearsals.rounds import rehearse_round

        return output.deliver_rehearsal(rehearse_round(request))
    return run(lambda context: run_round(request, context, processes), output, store, None)
