"""`traindyno round analyse`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options, report_option


@click.command("analyse")
@click.argument("name")
@report_option
@output_options
def command(name: str, store: str, **values: Any) -> int:
    """Check the round NAME, then say what it has shown: which values of the target are better, with the nuisances tuned
    for each, whether more draws would help, which hyperparameters matter, and what to do with the ranges next.

    Nothing is run. A round that is still running, or was cut short, is analysed as far as it is.
    """
    from traindyno.app.rounds.analyse import analyse

    output = Output.take(values, store, only_reads=True)
    return output.deliver(analyse(name, store))
