"""The frame of every JSON document that no study stands behind: doctor, studies, report, a dry run."""

import json
from typing import Any

import click

from traindyno.core.codec import plain


def print_answer(command: str, answer: Any, study: str | None = None) -> None:
    """Print one document in the form that studies have."""
    fields = {"study": study, "answer": plain(answer), "trials": [], "warnings": []}
    click.echo(json.dumps({"schema": "traindyno/1", "command": command, **fields}, indent=2))
