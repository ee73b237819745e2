"""Errors at the edge: what happened and `hint:` what to type next, or one JSON document."""

import json
import os
import sys
from collections.abc import Sequence

import click

from traindyno.cli.project_file import top_level
from traindyno.core.errors import TraindynoError

INTERRUPTED = 130
GROUPS = ("data", "round")
"""Commands that consist of others; `studies` is also one by itself."""


def report_error(error: BaseException, arguments: Sequence[str]) -> int:
    """Say what went wrong, in the form the user asked for, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        return _broken_pipe()
    message, hint, code = _parts(error)
    _print_document(arguments, message, hint)
    traceback = getattr(error, "traceback", None)
    if traceback:
        click.echo(traceback.rstrip(), err=True)
    tell_error(message, hint)
    return code


def report_bug(error: Exception, arguments: Sequence[str]) -> None:
    """An error that nobody foresaw: with `--json` still one document; its traceback follows on stderr."""
    _print_document(arguments, f"{type(error).__name__}: {error}", "this is a bug in traindyno: please report it")


def _print_document(arguments: Sequence[str], message: str, hint: str | None) -> None:
    if wants_json(arguments):
        error = {"message": message, "hint": hint}
        click.echo(json.dumps({"schema": "traindyno/1", "command": _command(arguments), "error": error}, indent=2))


def _command(arguments: Sequence[str]) -> str | None:
    """`throughput`, or `data make`: as the documents of these commands name themselves."""
    words = [word for word in arguments if not word.startswith("-")]
    has_two = words[:1] in [[group] for group in GROUPS] or words[:2] == ["studies", "delete"]
    return " ".join(words[: 2 if has_two else 1]) if words else None


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` was given, here or in the project file; a broken project file asks for nothing."""
    if "--json" in arguments:
        return True
    try:
        return top_level("json") is True
    except TraindynoError:
        return False


def tell_error(message: str, hint: str | None) -> None:
    """What happened and what to do about it, for people."""
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)
    if hint:
        click.secho("hint: ", fg="cyan", bold=True, nl=False, err=True)
        click.echo(hint, err=True)


def _parts(error: BaseException) -> tuple[str, str | None, int]:
    if isinstance(error, TraindynoError):
        return error.message, error.hint, error.exit_code
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "traindyno"
        return error.format_message(), f"see `{path} --help`", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), None, error.exit_code
    return "interrupted", "finished trials are kept: `traindyno studies`, then `traindyno resume STUDY`", INTERRUPTED


def _broken_pipe() -> int:
    """The reader of stdout went away, as `head` does: nothing is wrong. Keep the interpreter quiet about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
