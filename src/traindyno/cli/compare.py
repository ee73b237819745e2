"""`traindyno compare`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options


@click.command("compare")
@click.argument("a")
@click.argument("b")
@output_options
def command(a: str, b: str, store: str, **values: Any) -> int:
    """Set A and B side by side: names of studies, or JSON files exported elsewhere."""
    from traindyno.app.compare import compare

    output = Output.take(values, store)
    return output.deliver(compare(a, b, store))
