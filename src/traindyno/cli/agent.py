"""`traindyno agent`."""

import click

from traindyno.cli.output import EXIT_DONE, EXIT_INTERRUPTED
from traindyno.cli.parameters import DURATION


@click.command("agent")
@click.argument("head", metavar="HOST:PORT")
@click.option(
    "--model", "models", multiple=True, metavar="FILE:FUNCTION",
    help="Allow this code of your own to run here; it must be the same file, at the same path, as on the head.",
)  # fmt: skip
@click.option(
    "--wait", type=DURATION, default="10m", show_default=True, metavar="TIME",
    help="How long to look for the head, also after one that went without a word.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(head: str, models: tuple[str, ...], wait: float, quiet: bool) -> int:
    """Lend this machine to a study of several: the head at HOST:PORT says what to run.

    The head is `traindyno scale --nodes N --listen HOST:PORT` on another machine. Both need the same secret in the
    environment variable TRAINDYNO_TOKEN. Known models run when the head asks for them; code of your own only if it
    is named here.
    """
    from traindyno.app.agent import serve_head
    from traindyno.app.interrupts import catching_interrupts
    from traindyno.app.sources import hash_source

    def tell(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    named = tuple((model, hash_source(model)) for model in models)
    with catching_interrupts() as interrupts:
        serve_head(head, named, tell, interrupts, wait)
    return EXIT_INTERRUPTED if interrupts() else EXIT_DONE
