"""How long the parts of a group's trial may take before it is ended: seconds, not the half hour of a collective."""

from traindyno.core.base import Record
from traindyno.core.records import TrialSpec

MEETING = "meeting"
FIRST_STEP = "first step"
LEARNING_SILENCE = 120.0
"""Between its steps a run that learns also starts loaders and writes checkpoints, for which all others wait."""
SETTING_UP = ("start", "device", "model", "data")


class Limits(Record, frozen=True):
    """Seconds until all nodes are there, and all ranks; until these have met, until each is ready, and between signs
    of progress. A launcher that ends without its ranks is noticed at once: `start_up` is for one that never gets there.

    Among its steps a group may be silent for `patience` times its longest silence so far, but at least for `silence`.
    A node that is not heard of for `node_silence` is lost.
    """

    connect: float = 120.0
    start_up: float = 600.0
    meeting: float = 30.0
    set_up: float = 300.0
    first_step: float = 600.0
    silence: float = 15.0
    patience: float = 10.0
    node_silence: float = 5.0

    def silence_in(self, phase: str, longest_gap: float) -> float:
        """How long a group may be silent whose last rank is in this phase."""
        if phase == MEETING:
            return self.meeting
        if phase in SETTING_UP:
            return self.set_up
        if phase == FIRST_STEP:
            return self.first_step
        return max(self.silence, self.patience * longest_gap)


def limits_of(spec: TrialSpec) -> Limits:
    """The usual limits; where the user has said how long a step may take, that holds for steps."""
    asked = spec.silence_seconds
    usual = Limits(silence=LEARNING_SILENCE) if spec.kind == "learn" else Limits()
    return usual if asked is None else Limits(first_step=asked, silence=asked, patience=1.0)
