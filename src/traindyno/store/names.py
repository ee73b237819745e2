"""Names of studies: which are allowed, which are made up, and which was probably meant."""

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from traindyno.core.errors import UsageError

LONGEST_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_COMMAND = 40  # leaves room for the time and a number


def is_name(name: str) -> bool:
    """Whether a study may be called so; a database need not be asked for any other."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """The name itself, if a study may be called so."""
    if not is_name(name):
        raise UsageError(
            f"{name!r} cannot be the name of a study",
            f"use at most {LONGEST_NAME} letters, digits, dots, dashes, underscores; a letter or digit first",
        )
    return name


def proposed_names(command: str, moment: datetime) -> Iterator[str]:
    """`max-batch-20261115-063012`, then the same with -2, -3 and so on."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", command).strip("-._") or "study"
    stem = f"{readable[:_LONGEST_COMMAND]}-{moment:%Y%m%d-%H%M%S}"
    yield stem
    for number in itertools.count(2):
        yield f"{stem}-{number}"


def taken_name(name: str, resuming: str, failed: bool = False) -> UsageError:
    """The error for a name that another study has; `resuming` is what to type to go on with that one.

    One that `failed` may have been asked the wrong thing, which it would only be asked again: its name can be freed.
    """
    if failed:
        return UsageError(
            f"there is already a study named {name!r}, and it failed",
            f"free the name with `traindyno studies delete {name}`, choose another with --name, or, if the cause is "
            f"mended, run the same again with `{resuming}`",
        )
    return UsageError(
        f"there is already a study named {name!r}",
        f"choose another name with --name, or continue that study with `{resuming}`",
    )


def unknown_name(name: str, known: Sequence[str]) -> UsageError:
    """The error for a study that is not there, listing those it might have been (`known` is newest first)."""
    message = f"there is no study named {name!r} in this store"
    if not known:
        return UsageError(message, "the store is empty: name another with --store, or measure first")
    nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if nearest:
        return UsageError(message, f"did you mean {' or '.join(nearest)}?")
    return UsageError(message, f"the newest are {', '.join(known[:3])}; `traindyno studies` lists all")
