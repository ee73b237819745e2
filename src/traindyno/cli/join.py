"""`traindyno join`."""

from typing import TYPE_CHECKING

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options
from traindyno.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from traindyno.cli.parameters import DURATION
from traindyno.core.units import count_of

if TYPE_CHECKING:
    from traindyno.app.join import JoinAnswer


@click.command("join")
@click.argument("studies", nargs=-1, metavar="[STUDY]...")
@click.option("--model", "models", multiple=True, metavar="FILE:FUNCTION", help="Code of your own that may run here.")
@click.option("--device", metavar="DEVICE", help="cuda, cuda:1 or cpu. [default: the first of the study's kind]")
@click.option("--wait", type=DURATION, metavar="TIME", help="Wait so long for a study to begin. [default: not at all]")
@click.option("-v", "--verbose", is_flag=True, help="Tell every phase of every trial.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, warnings only.")
@store_options
def command(
    studies: tuple[str, ...],
    models: tuple[str, ...],
    device: str | None,
    wait: float | None,
    verbose: bool,
    quiet: bool,
    store: str,
    as_json: bool,
) -> int:
    """Take part in each STUDY that others have begun, or in all that run, until they are finished.

    Rounds and their proofs are run by many processes together, on as many machines as reach the store:
    --store postgresql+psycopg://USER@HOST/DATABASE. Code of your own must be named here with --model.
    """
    from traindyno.app.context import Context
    from traindyno.app.interrupts import catching_interrupts
    from traindyno.app.join import join
    from traindyno.app.sources import hash_source
    from traindyno.cli.progress import showing_progress

    named = tuple((model, hash_source(model)) for model in models)
    with catching_interrupts() as interrupts, showing_progress(quiet=quiet, verbose=verbose) as emit:
        context = Context(store=store, emit=emit, should_stop=interrupts)
        answer = join(studies, context, named, device=device, wait_seconds=wait or 0.0)
    if as_json:
        print_answer("join", answer)
    else:
        _print(answer)
    if interrupts():
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any(part.state == "failed" for part in answer.studies) else EXIT_DONE


def _print(answer: "JoinAnswer") -> None:
    for part in answer.studies:
        click.echo(f"{part.study}: ran {count_of(part.ran, 'trial')}; the study is {part.state}")
    click.echo(f"ran {count_of(answer.ran, 'trial')} in all")
