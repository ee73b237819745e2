"""The baseline of a search: what the user trains with, from a file, from options, and from what must be kept."""

from collections.abc import Mapping
from typing import Any

import msgspec

from traindyno.core.base import Record
from traindyno.core.keeping import kept_settings
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.settings_file import settings_of
from traindyno.machine.settings_files import read_settings_file

DEFAULT = "default"
"""The DataLoader's and torch's own defaults, instead of a file."""


class Baseline(Record, frozen=True):
    """`data` is null where no file names any."""

    settings: Settings
    data: str | None = None


def workload_of(file: str) -> WorkloadSpec | None:
    """What the file's settings are for, as far as it says so."""
    return None if file == DEFAULT else read_settings_file(file).workload


def baseline_of(file: str, usual: Settings, given: Mapping[str, Any], kept: Mapping[str, Any]) -> Baseline:
    """The file's settings, the `usual` ones where it says nothing; those `given` now and those kept win over both."""
    settings, data = usual, None
    if file != DEFAULT:
        content = read_settings_file(file)
        settings, data = settings_of(content, usual), content.data
    return Baseline(settings=msgspec.structs.replace(settings, **{**given, **kept_settings(kept, given)}), data=data)
