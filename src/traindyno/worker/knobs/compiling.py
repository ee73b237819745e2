"""torch.compile, and the CUDA graphs that two of its modes make."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from traindyno.core.records import CompileMode, Settings

T = TypeVar("T")
_MODES: dict[CompileMode, str | None] = {
    "default": None,
    "reduce-overhead": "reduce-overhead",
    "max-autotune": "max-autotune",
}
_WITH_GRAPHS = ("reduce-overhead", "max-autotune")


def compile_model(model: nn.Module, settings: Settings) -> None:
    """Compile the model where it is: its parameters and modes stay its own, and the first call does the work."""
    if settings.compile != "none":
        model.compile(mode=_MODES[settings.compile], dynamic=False)


def with_fresh_graphs(step: Callable[[], T], settings: Settings) -> Callable[[], T]:
    """The step, which first gives back to the CUDA graphs the memory of what they returned in the step before."""
    if settings.compile not in _WITH_GRAPHS:
        return step

    def fresh() -> T:
        torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        return step()

    return fresh
