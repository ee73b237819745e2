"""`traindyno round ledger`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options


@click.command("ledger")
@click.option("--campaign", metavar="NAME", help="Whose decisions. [default: the only campaign, or `default`]")
@output_options
def command(campaign: str | None, store: str, **values: Any) -> int:
    """List what a campaign has decided, oldest first: the change, its gain on fresh seeds, the code and the command.

    What was tuned under another model or batch than there is now is marked stale: it must be tuned again. The last line
    is the configuration that holds.
    """
    from traindyno.app.rounds.ledger import ledger_document

    output = Output.take(values, store)
    return output.deliver(ledger_document(store, campaign))
