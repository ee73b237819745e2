"""Whether a user's function takes what it is to be called with."""

import inspect
from collections.abc import Collection
from inspect import Parameter
from typing import Any

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.models.names import nearest

_BY_KEYWORD = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_UNKNOWN = [Parameter("arguments", Parameter.VAR_KEYWORD)]


def check_arguments(function: Any, place: str, given: Collection[str]) -> None:
    """Raise unless the function, which stands at `place`, can be called with these keyword arguments and no others."""
    for name in given:
        if not takes(function, name):
            raise _refused(function, place, name)
    needed = [name for name in _required(function) if name not in given]
    if needed:
        called = f"with {', '.join(given)} alone" if given else "without any"
        raise TraindynoError(
            f"{place} requires arguments ({', '.join(needed)})",
            f"it is called {called}: give them defaults, or write a function without arguments around it",
        )


def takes(function: Any, name: str) -> bool:
    """Whether the function has a parameter of that name, or takes any by `**`."""
    return names(function, name) or any(each.kind is Parameter.VAR_KEYWORD for each in _parameters(function))


def names(function: Any, name: str) -> bool:
    """Whether the function has a parameter of that very name."""
    return name in _named(function)


def _named(function: Any) -> list[str]:
    return [each.name for each in _parameters(function) if each.kind in _BY_KEYWORD]


def _required(function: Any) -> list[str]:
    parameters = _parameters(function)
    return [each.name for each in parameters if each.default is Parameter.empty and each.kind not in _VARIABLE]


def _parameters(function: Any) -> list[Parameter]:
    """Native code need not tell its parameters; then it may be called with anything."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return _UNKNOWN


def _refused(function: Any, place: str, name: str) -> UsageError:
    own = _named(function)
    likely = nearest(name, own, count=1)
    guess = f"did you mean {likely[0]}? " if likely else ""
    return UsageError(f"{place} takes no argument {name!r}", f"{guess}It takes {', '.join(own) or 'none'}")
