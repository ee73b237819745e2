"""Folders that a run writes to, checked before it begins."""

import os
from pathlib import Path

from traindyno.core.errors import UsageError


def check_folder(folder: Path, purpose: str) -> None:
    """Refuse a folder that cannot be written to or made, and make none: a run may be refused for other reasons yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(
            f"the folder {folder} for {purpose} cannot be made: {there} is a file", "choose another folder"
        )
    _check_writable(there, folder, purpose)


def make_folder(folder: Path, purpose: str) -> None:
    """Make the folder where it is missing; refuse one that cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder {folder} for {purpose} cannot be made: {error.strerror}", "choose another folder"
        ) from error
    _check_writable(folder, folder, purpose)


def _check_writable(there: Path, folder: Path, purpose: str) -> None:
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"the folder {folder} for {purpose} cannot be written to", "choose another folder")
