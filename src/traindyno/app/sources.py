"""The fingerprint of a user's own file, by which a study knows whether its workload has changed."""

import hashlib
from pathlib import Path

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec, is_user_file

NamedAgain = tuple[tuple[str, str | None], ...]
"""Models that the user names on the command line now, each with the fingerprint of its file."""


def hash_source(model: str) -> str | None:
    """SHA-256 of the file in `path/to/file.py:function`, not of what it imports; None for known models."""
    if not is_user_file(model):
        return None
    path = Path(model[: model.rindex(".py") + len(".py")]).expanduser()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(f"there is no file {path}", "give its path relative to the folder you are in") from None
    except PermissionError:
        raise UsageError(f"the file {path} cannot be read", "check its permissions") from None


def check_named_again(workload: WorkloadSpec, named_again: NamedAgain) -> None:
    """Code that a record names runs only if the user names the same code now."""
    if not workload.runs_user_code:
        return
    given = dict(named_again)
    if workload.model not in given:
        raise UsageError(
            f"this study runs code from {workload.model}, which must be named again",
            f"add --model {workload.model}",
        )
    if given[workload.model] != workload.source_sha256:
        raise UsageError(
            f"{workload.model} has changed since the study began",
            "begin a new study; trials of two versions cannot be mixed",
        )
