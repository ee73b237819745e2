"""Whether a step needs to be run with the margin of memory held back, by what it was seen to hold."""

from traindyno.analysis.find.findings import Findings
from traindyno.core.records import Settings

CLEARLY_FREE = 0.1
"""Memory beyond the margin that need not be asked for."""


def is_clearly_free(findings: Findings, settings: Settings, margin: float) -> bool:
    """Whether it holds so little that the margin stays free without a run; not where that is not known."""
    share = findings.memory_share(settings)
    return share is not None and share < 1 - margin - CLEARLY_FREE
