"""Settings files on this machine's disks."""

import os

from traindyno.core.errors import UsageError
from traindyno.core.settings_file import parse_settings_file
from traindyno.core.setups import SettingsFile


def read_settings_file(path: str | os.PathLike[str]) -> SettingsFile:
    """Read and check a settings file. A few lines by hand are enough: `[settings]` and, say, `num_workers = 4`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"the settings file {os.fspath(path)} cannot be read: {reason}", "check the path") from None
    return parse_settings_file(text, os.fspath(path))
