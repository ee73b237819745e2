"""`traindyno resume`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options, report_option, toml_option


@click.command("resume")
@click.argument("study")
@click.option("--model", "models", multiple=True, metavar="FILE:FUNCTION", help="Name the study's own code again.")
@report_option
@toml_option
@output_options
def command(study: str, models: tuple[str, ...], store: str, **values: Any) -> int:
    """Finish STUDY where it was cut off; no finished trial is repeated."""
    from traindyno.app.resume import resume
    from traindyno.app.sources import hash_source
    from traindyno.cli.running import run

    output = Output.take(values, store)
    named = tuple((model, hash_source(model)) for model in models)
    return run(lambda context: resume(study, context, named), output, store, None)
