"""The batch computed in two parts: less memory for the same step, never adopted for speed."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, needs_training

PARTS = 2


def values(situation: Situation) -> tuple[Value, ...]:
    return (PARTS,) if situation.baseline.accumulation_steps == 1 else (1,)


def reason_not(situation: Situation, value: Value) -> str | None:
    size = situation.baseline.batch_size
    if isinstance(value, int) and size % value:
        return f"a batch of {size} cannot be computed in {value} equal parts"
    return needs_training(situation, value)


SWITCH = Switch(
    name="accumulation_steps",
    question="What does it cost to compute the batch in parts, and how much memory does it save?",
    values=values,
    reason_not=reason_not,
    changes_arithmetic=True,
    recommendable=False,
)
