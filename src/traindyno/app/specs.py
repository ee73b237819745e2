"""What the trials of a request have in common, whichever command asks."""

import msgspec

from traindyno.app.workshop import Workshop
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec

STEPS = 3


def first_spec(workshop: Workshop, workload: WorkloadSpec) -> TrialSpec:
    """A short probe of a workload on this bench, from which other trials are made."""
    bench = workshop.bench
    return TrialSpec(
        kind="fit",
        workload=workload,
        settings=Settings(batch_size=1, precision=bench.precision, device=bench.device),
        budget=Budget(steps=STEPS),
        seed=bench.seed,
        memory_limit_bytes=bench.memory_limit_bytes,
        silence_seconds=bench.step_timeout_seconds,
    )


def settled(settings: Settings, template: TrialSpec) -> Settings:
    """The settings of a request, on the device and in the precision of its bench."""
    return msgspec.structs.replace(settings, device=template.settings.device, precision=template.settings.precision)
