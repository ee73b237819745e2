"""torch.compile, where it keeps its work, and the CUDA graphs that two of its modes make."""

import hashlib
import os
from collections.abc import Callable
from typing import TypeVar

import msgspec
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from traindyno.core.codec import encode
from traindyno.core.records import CompileMode, Settings, TrialSpec
from traindyno.core.setups import step_settings

T = TypeVar("T")
_MODES: dict[CompileMode, str | None] = {
    "default": None,
    "reduce-overhead": "reduce-overhead",
    "max-autotune": "max-autotune",
}
_OF_A_STEP = "step-"
_WITH_GRAPHS = ("reduce-overhead", "max-autotune")


def use_own_cache(spec: TrialSpec) -> None:
    """Keep compiled code in a folder of this step alone, within that of the runner.

    So the first compilation of a step starts from nothing, whatever was compiled before, and every later one finds its
    work done, in whichever trial; where its batches come from does not matter. Settings that run apart because they did
    not fit together have another folder: the pair that failed has compiled, and its work would hide what a start takes.
    Torch and Triton read these variables when they first compile, which is later.
    """
    given = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if given is None:
        return
    parent, name = os.path.split(given)
    runners = parent if name.startswith(_OF_A_STEP) else given
    workload = msgspec.structs.replace(spec.workload, data="", skip_bad=False)
    is_apart = spec.against is not None and spec.kind != "pair"
    likeness = encode((workload, step_settings(spec.settings), *(["apart"] if is_apart else [])))
    own = f"{runners}/{_OF_A_STEP}{hashlib.sha256(likeness.encode()).hexdigest()[:16]}"
    os.environ |= {"TORCHINDUCTOR_CACHE_DIR": own, "TRITON_CACHE_DIR": f"{own}/triton"}


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


def outlasting(output: T, settings: Settings) -> T:
    """The output in memory of its own, where CUDA graphs would write that of the next step over it."""
    if settings.compile not in _WITH_GRAPHS:
        return output
    copied: T = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, output)
    return copied
