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

TESTS = str(Path(__file__).parents[1])
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
    return _start(folder, [*COMMAND, *arguments], environment())


def paused(folder: Path, trials: int, *arguments: str) -> subprocess.Popen[str]:
    """The same, once so many simulated trials of its study have ended; the next waits until it is interrupted."""
    process = _start_pausing(folder, "interrupted", trials, *arguments)
    assert process.stderr is not None
    ended = 0
    while ended < trials:
        line = process.stderr.readline()
        assert line, "it ended too early"
        ended += line.startswith("[")
    return process


def helped(folder: Path, trials: int, *arguments: str) -> subprocess.Popen[str]:
    """The same, but its first simulated trial waits until other processes have ended so many of the study's."""
    return _start_pausing(folder, "helped", trials, *arguments)


def _start_pausing(folder: Path, how: str, trials: int, *arguments: str) -> subprocess.Popen[str]:
    found = {"PYTHONPATH": os.pathsep.join(each for each in (TESTS, *sys.path) if each)}
    command = [sys.executable, "-m", "cli.pausing", how, str(trials), *arguments]
    return _start(folder, command, environment() | found)


def _start(folder: Path, command: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        start_new_session=True,
    )


def document(completed: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What `--json` printed: exactly one document."""
    content: dict[str, Any] = json.loads(completed.stdout)
    return content


def environment() -> dict[str, str]:
    return {**os.environ, **TERMINAL, "PYTHONUNBUFFERED": "1"}
