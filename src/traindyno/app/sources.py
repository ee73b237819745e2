"""The fingerprint of a user's own file, by which a study knows whether its workload has changed."""

import hashlib
from pathlib import Path

from traindyno.core.errors import UsageError
from traindyno.core.records import is_user_file


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
