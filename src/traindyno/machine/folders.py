"""Folders that may not be there yet: where they would be made, and whether they may be."""

import os
from pathlib import Path


def nearest_existing(folder: Path) -> Path:
    """The folder itself, or the closest parent in which it would be made."""
    absolute = Path(os.path.abspath(folder))
    return next(path for path in (absolute, *absolute.parents) if path.exists())


def may_write(folder: Path) -> bool:
    """Whether files may be made in the folder, or the folder itself where it is not there."""
    return os.access(nearest_existing(folder), os.W_OK | os.X_OK)
