"""Questions on a terminal that are asked until they have an answer."""

from collections.abc import Callable
from typing import TypeVar

import click

from traindyno.core.errors import UsageError

T = TypeVar("T")


def until_taken(ask_once: Callable[[], T]) -> T:
    """What cannot be is told, and asked again."""
    while True:
        try:
            return ask_once()
        except UsageError as error:
            click.echo(f"  {error.message}; {error.hint}", err=True)


def prompt(text: str, default: str | None) -> str:
    """The answer; an empty one only where that is proposed."""
    while True:
        answer = str(click.prompt(text, default=default or "", show_default=bool(default), err=True)).strip()
        if answer or default == "":
            return answer
        click.echo("  that needs an answer", err=True)
