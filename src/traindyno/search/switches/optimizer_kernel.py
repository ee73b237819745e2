"""How the optimiser goes over the parameters: one by one, in groups, or in one kernel."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, needs_training, others_of


def reason_not(situation: Situation, value: Value) -> str | None:
    own_choice = "foreach" if situation.on_gpu else "loop"
    if situation.trains and {situation.baseline.optimizer_kernel, value} == {"auto", own_choice}:
        return f"torch chooses {own_choice} by itself here"
    return needs_training(situation, value)


SWITCH = Switch(
    name="optimizer_kernel",
    question="Is another form of the optimiser faster?",
    values=others_of("optimizer_kernel", ("fused", "foreach", "loop"), off="auto"),
    reason_not=reason_not,
    changes_arithmetic=True,
)
