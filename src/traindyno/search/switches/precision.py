"""Mixed precision: bf16, and fp16 with a scaled loss."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, others_of


def reason_not(situation: Situation, value: Value) -> str | None:
    return "fp16 is fast on GPUs only" if value == "fp16" and not situation.on_gpu else None


SWITCH = Switch(
    name="precision",
    question="Is mixed precision faster?",
    values=others_of("precision", ("bf16", "fp16"), off="fp32"),
    reason_not=reason_not,
    changes_arithmetic=True,
    partner=True,
)
