"""The real command line in a process of its own, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "traindyno"]


def run(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` and wait for its end."""
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
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
