"""The loss read on the host after every step, which waits for the device: its price is shown."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, needs_gpu, other_of


def reason_not(situation: Situation, value: Value) -> str | None:
    return needs_gpu(situation, value) if situation.trains else "inference has no loss to read"


SWITCH = Switch(
    name="read_metrics",
    question="What does it cost to read the loss after every step?",
    values=other_of("read_metrics"),
    reason_not=reason_not,
    recommendable=False,
)
