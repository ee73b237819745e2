"""The state of the user's own code when something was decided, as git tells it."""

import subprocess
from pathlib import Path

from traindyno.core.records import WorkloadSpec

SECONDS = 2.0


def commit_of(workload: WorkloadSpec) -> str | None:
    """The commit of the folder that the user's file is in, or else of the one we are in; null where git knows none.

    A `+` at its end says that something had been changed since.
    """
    folder = Path(workload.model.partition(".py")[0]).expanduser().parent if workload.runs_user_code else Path()
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}+" if changes else commit


def _git(folder: Path, *words: str) -> str | None:
    try:
        asked = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None
