"""Whether a round can come of what was said so far, when more is still to be asked."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from traindyno.core.round_checks import NothingSearchedError
from traindyno.core.round_fields import is_argument
from traindyno.core.round_words import parse_assignment

if TYPE_CHECKING:
    from traindyno.app.rounds.wishes import Wishes

_ANY_FILE = "file.py:function"


def check_options(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> None:
    """Raise for a mistake in the options, which no answer mends; what is asked later is stood in for."""
    said = (*wishes.job, *wishes.targets, *wishes.nuisances, *wishes.fixed, *wishes.incumbent)
    if wishes.function is not None:
        better = True if wishes.higher_is_better is None else wishes.higher_is_better
        wishes = msgspec.structs.replace(wishes, metric=wishes.metric or "accuracy", higher_is_better=better)
    elif not has_model(wishes, adopted) and any(map(is_argument, said)):
        wishes = msgspec.structs.replace(wishes, job={**wishes.job, "model": _ANY_FILE})
    possible(wishes, file, adopted)


def possible(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    """The wishes, if a round can come of them; its target, and what is searched, may still be to come."""
    from traindyno.app.rounds.new import propose

    tried = wishes if wishes.targets else msgspec.structs.replace(wishes, goal=None)
    if wishes.function is not None:
        for each in wishes.incumbent:
            parse_assignment(each, is_own=True)
        tried = msgspec.structs.replace(tried, incumbent=())  # of parameters that may have no role yet
    with suppress(NothingSearchedError):
        propose(tried, file, adopted)
    return wishes


def has_model(wishes: "Wishes", adopted: Mapping[str, Any]) -> bool:
    """Whether something is trained already, so that nobody is asked for it; a target brings its first."""
    is_target = any(each.startswith("model=") for each in wishes.targets)
    return wishes.job.get("model") is not None or "model" in adopted or is_target
