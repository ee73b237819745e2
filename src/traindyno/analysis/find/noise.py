"""What it takes to read the noise of gradients, by the trials before."""

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.simpler import predicted_rate
from traindyno.analysis.intervals import median
from traindyno.core.learning import NoisePlan

LAUNCH_SECONDS = 0.002
"""Assumed of the smallest step, where nobody has looked how long launching takes."""


def training_step_seconds(findings: Findings) -> float | None:
    """A step end to end of what is held: measured, or else foretold."""
    held = findings.held
    measured, foretold = findings.rate(held), predicted_rate(findings, held)
    if measured is not None:
        return measured.step_seconds
    return None if foretold is None else held.settings.batch_size / foretold


def reading_seconds(findings: Findings, plan: NoisePlan, step_seconds: float) -> float:
    """One reading: its examples are loaded by a loader of its own, and computed in many small steps."""
    batch_size = findings.held.settings.batch_size
    micro_batch = plan.examples_together(normalises=True)
    loaded = _start_up_seconds(findings) + plan.micro_batches * micro_batch * step_seconds / batch_size
    return loaded + plan.micro_batches * _small_step_seconds(findings, micro_batch)


def _small_step_seconds(findings: Findings, batch_size: int) -> float:
    """In proportion to the batch, but not less than launching takes."""
    settings = findings.held.settings
    step = findings.resident_seconds(settings) or 0.0
    record = findings.anatomies.get(findings.baseline)
    told = record.measurement.anatomy if record is not None and record.measurement is not None else None
    launching = LAUNCH_SECONDS if told is None else told.host_step_seconds or LAUNCH_SECONDS
    return max(step * min(1.0, batch_size / settings.batch_size), min(step, launching))


def _start_up_seconds(findings: Findings) -> float:
    """Of the loader, each time that one is opened."""
    told = [record.measurement.loading for record in findings.runs(findings.held) if record.measurement is not None]
    known = [each.start_up_seconds for each in told if each is not None and each.start_up_seconds is not None]
    return median(known) if known else 0.0
