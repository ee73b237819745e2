"""The command line as a user types it: in this process, or in one of its own where that matters."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from traindyno.cli.main import main

COMMAND = [sys.executable, "-m", "traindyno"]
TERMINAL = {"NO_COLOR": "1", "COLUMNS": "100"}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` to its end, in this process: a new one would mostly import."""
    out, error = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, TERMINAL),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), error.getvalue())


def run_apart(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`, in a process of its own, and wait for its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        check=False,
    )


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command in `folder`, in a process group of its own as under a shell."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


def document(completed: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What `--json` printed: exactly one document."""
    content: dict[str, Any] = json.loads(completed.stdout)
    return content


def environment() -> dict[str, str]:
    return {**os.environ, **TERMINAL, "PYTHONUNBUFFERED": "1"}
