"""`traindyno show`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options, toml_option


@click.command("show")
@click.argument("study")
@toml_option
@output_options
def command(study: str, store: str, **values: Any) -> int:
    """Print the answer of STUDY again, and export it if asked."""
    from traindyno.app.library import study_document

    output = Output.take(values, store)
    return output.deliver(study_document(study, store))
