"""Images stored pixel by pixel instead of colour by colour. It acts together with a lower precision."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch

WITHOUT_CONVOLUTIONS = "mlp:"


def values(situation: Situation) -> tuple[Value, ...]:
    return ("contiguous" if situation.baseline.memory_format == "channels_last" else "channels_last",)


def reason_not(situation: Situation, value: Value) -> str | None:
    has_none = situation.workload.model.startswith(WITHOUT_CONVOLUTIONS)
    return "a model of linear layers has no images to lay out" if has_none else None


SWITCH = Switch(
    name="memory_format",
    question="Is channels_last faster?",
    values=values,
    reason_not=reason_not,
    changes_arithmetic=True,
    partner=True,
)
