"""Errors for wrong names, with the nearest right ones."""

import difflib
from collections.abc import Iterable, Sequence

from traindyno.core.errors import UsageError


def nearest(name: str, names: Iterable[str], count: int = 5) -> list[str]:
    """The names most like the given one, best first, whatever the case."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.5)
    return [by_lower[lower] for lower in found]


def unknown_name(family: str, name: str, names: Sequence[str]) -> UsageError:
    """`torchvision:resnet5` does not exist; `resnet50` does."""
    likely = nearest(name, names)
    what = f"{family} has no model named {name!r}" if name else f"{family}: lacks the name of a model"
    if not likely:
        return UsageError(what, f"no name is like it; for example: {_joined(family, sorted(names)[:5])}")
    return UsageError(what, f"did you mean {_joined(family, likely)}?")


def _joined(family: str, names: Sequence[str]) -> str:
    return ", ".join(f"{family}:{name}" for name in names)
