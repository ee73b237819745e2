"""cuDNN's own search for the fastest convolution."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, other_of


def reason_not(situation: Situation, value: Value) -> str | None:
    if not situation.on_gpu:
        return "only GPUs have cuDNN"
    return "it would undo determinism" if value and situation.baseline.determinism != "none" else None


SWITCH = Switch(
    name="cudnn_benchmark",
    question="Does it help to let cuDNN time its convolutions first?",
    values=other_of("cudnn_benchmark"),
    reason_not=reason_not,
    changes_arithmetic=True,
)
