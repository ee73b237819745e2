"""Errors in the words of a script: options of the command line become arguments of the function that was called."""

import functools
import inspect
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from traindyno.core.errors import TraindynoError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench

P = ParamSpec("P")
T = TypeVar("T")

OTHER_NAMES = {
    "contender": ("contenders",),
    "emulate_devices": ("emulated_devices",),
    "eval_every": ("eval_every_epochs",),
    "eval_examples": ("evaluation_examples",),
    "fine_tune": ("fine_tuning",),
    "lr": ("learning_rate",),
    "lr_rule": ("rule", "rate_rule"),
    "memory_limit": ("memory_limit_bytes",),
    "memory_margin": ("margin",),
    "step_timeout": ("step_timeout_seconds",),
    "time_budget": ("time_budget_seconds",),
    "trial_timeout": ("trial_timeout_seconds",),
    "validate_for": ("validate_seconds",),
    "workers": ("num_workers",),
}
"""Arguments that are not called as their options are."""
_FREE = (Settings, WorkloadSpec, Bench, Recipe)
_COMMAND_OR_OPTION = re.compile(r"(?P<command>`[^`]*`|\Atraindyno .*)|--(?P<no>no-)?(?P<name>[a-z][a-z0-9-]*)")


def speaks_python(function: Callable[P, T]) -> Callable[P, T]:
    """What goes wrong names arguments of the function; commands to type stay as they are."""

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TraindynoError as error:
            arguments = arguments_of(function)
            error.reword(lambda text: in_python(text, arguments))
            raise

    return asked


def arguments_of(function: Callable[..., object]) -> set[str]:
    """All that it takes by name, its free options included."""
    parameters = inspect.signature(function).parameters
    free = {name for kind in _FREE for name in kind.__struct_fields__} if "options" in parameters else set()
    return set(parameters) | free


def in_python(text: str, arguments: set[str]) -> str:
    """The text with `batch_size` for --batch-size and `cold=False` for --no-cold, where it takes such arguments."""

    def renamed(found: re.Match[str]) -> str:
        if found["command"]:
            return found[0]
        option = found["name"].replace("-", "_")
        name = next((each for each in (option, *OTHER_NAMES.get(option, ())) if each in arguments), None)
        if name is None:
            return found[0]
        return f"`{name}=False`" if found["no"] else f"`{name}`"

    return _COMMAND_OR_OPTION.sub(renamed, text)
