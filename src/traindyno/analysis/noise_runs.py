"""The runs of a study that read the noise of their gradients."""

from collections.abc import Sequence

from traindyno.core.learning import Noise
from traindyno.core.records import TrialRecord


def noises_of(records: Sequence[TrialRecord]) -> list[Noise]:
    """What every run that came to an end has read."""
    measured = [record.measurement for record in records if record.spec.kind == "noise"]
    return [found.noise for found in measured if found is not None and found.noise is not None]
