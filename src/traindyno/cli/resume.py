"""`traindyno resume`."""

from pathlib import Path
from typing import Any

import click

from traindyno.cli.output import Output, output_options, report_option, toml_option
from traindyno.cli.parameters import BUDGET


@click.command("resume")
@click.argument("study")
@click.option("--model", "models", multiple=True, metavar="FILE:FUNCTION", help="Name the study's own code again.")
@click.option(
    "--time-budget", type=BUDGET, metavar="TIME",
    help="What the rest may take. [default: as the study began]",
)  # fmt: skip
@click.option("--address", metavar="HOST:PORT", help="The Ray cluster's head. [default: as the study began]")
@click.option("--elsewhere", is_flag=True, help="This may be another machine of the same kind; the answer says so.")
@report_option
@toml_option
@output_options
def command(
    study: str,
    models: tuple[str, ...],
    time_budget: float | None,
    address: str | None,
    elsewhere: bool,
    store: str,
    **values: Any,
) -> int:
    """Finish STUDY where it was cut off; no finished trial is repeated.

    With a new --time-budget a search goes on that had to end because there was no time left.
    """
    from traindyno.app.companions import accompany_again
    from traindyno.app.processes import is_companion
    from traindyno.app.resume import resume
    from traindyno.app.sources import hash_source
    from traindyno.cli.running import run, run_beside

    settings_path: Path | None = values["export_toml"]
    output = Output.take(values, store)
    named = tuple((model, hash_source(model)) for model in models)
    if is_companion():
        return run_beside(lambda told_to_stop: accompany_again(study, store, named, told_to_stop))
    return run(
        lambda context: resume(
            study,
            context,
            named,
            time_budget_seconds=time_budget,
            settings_path=settings_path,
            address=address,
            elsewhere=elsewhere,
        ),
        output,
        store,
        None,
    )
