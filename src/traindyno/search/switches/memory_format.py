"""Images stored pixel by pixel instead of colour by colour. It acts together with a lower precision."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch


def values(situation: Situation) -> tuple[Value, ...]:
    return ("contiguous" if situation.baseline.memory_format == "channels_last" else "channels_last",)


SWITCH = Switch(
    name="memory_format",
    question="Is channels_last faster?",
    values=values,
    changes_arithmetic=True,
    partner=True,
)
