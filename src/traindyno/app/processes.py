"""Whether this process is one of several that torchrun started, which only training can share work between."""

import os
from collections.abc import Mapping

from traindyno.core.errors import UsageError

PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
"""What torchrun tells every process that it starts."""


def is_one_of_several(environment: Mapping[str, str] | None = None) -> bool:
    found = os.environ if environment is None else environment
    return all(name in found for name in PLACE) and int(found["WORLD_SIZE"]) > 1


def is_companion(environment: Mapping[str, str] | None = None) -> bool:
    """Whether this is another process of several than the first."""
    found = os.environ if environment is None else environment
    return is_one_of_several(found) and int(found["RANK"]) > 0


def check_alone(hint: str = "start this command without it") -> None:
    """Refuse what each of the processes would do for itself, all at once on the same machine."""
    if is_one_of_several():
        raise UsageError("only `train` runs under torchrun", hint)
