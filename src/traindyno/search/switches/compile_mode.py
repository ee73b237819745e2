"""`torch.compile`: fused kernels, and with `reduce-overhead` a step that is launched as one graph."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, others_of

MODES: tuple[Value, ...] = ("default", "reduce-overhead")


def values(situation: Situation) -> tuple[Value, ...]:
    modes = (*MODES, "max-autotune") if situation.max_autotune else MODES
    return others_of("compile", modes, off="none")(situation)


def reason_not(situation: Situation, value: Value) -> str | None:
    if value == "none" or situation.on_gpu:
        return None
    if value == "reduce-overhead":
        return "reduce-overhead needs CUDA graphs, which only GPUs have"
    return None if situation.has_cpp_compiler else "compiling for a CPU needs a C++ compiler, and none was found"


SWITCH = Switch(
    name="compile",
    question="Is a compiled model faster, and after how many steps does compiling pay back?",
    values=values,
    reason_not=reason_not,
    changes_arithmetic=True,
    partner=True,
)
