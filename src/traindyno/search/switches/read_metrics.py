"""The loss read on the host after every step, which waits for the device: its price is shown."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, other_of


def reason_not(situation: Situation, value: Value) -> str | None:
    if not situation.trains:
        return "inference has no loss to read"
    return None if situation.on_gpu else "the loss is on the host already, and reading it waits for no GPU"


SWITCH = Switch(
    name="read_metrics",
    question="What does it cost to read the loss after every step?",
    values=other_of("read_metrics"),
    reason_not=reason_not,
    recommendable=False,
)
