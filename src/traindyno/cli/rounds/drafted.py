"""What is told of a round's file that was written."""

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from traindyno.core.answers.rounds import DraftAnswer


def tell(answer: "DraftAnswer") -> None:
    """The file and the reasons for what stands in it; warnings and what to type next on stderr."""
    click.echo(f"{answer.path}: written")
    for reason in answer.reasons:
        click.echo(f"  {reason}")
    for lint in answer.lints:
        click.secho(f"warning: {lint}", fg="yellow", err=True)
    click.echo(f"hint: read it, change it, then `traindyno round run {shlex.quote(answer.path)}`", err=True)
