"""The step before and after, taken apart: its phases, what binds it, and what is left to gain."""

from collections.abc import Sequence

from traindyno.analysis.anatomy_bounds import COMPUTE, DATA
from traindyno.analysis.anatomy_sizes import ceilings_of, combine_size
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import supplier_of, waiting_gain
from traindyno.analysis.find.rates import rate_of, resident_of
from traindyno.analysis.find.steadiness import are_apart, own_rate
from traindyno.analysis.intervals import combine_processes, ratio_interval
from traindyno.analysis.stall_causes import CAUSE_OF_STAGE
from traindyno.analysis.sustained import sustained
from traindyno.core.answers import AnatomySize
from traindyno.core.answers.find import Headroom, StepShare
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup

WAITS = 1.1
"""Without a step taken apart, training that would gain so much without waiting is bound by its data."""

NOT_SEEN = "the step was not taken apart"
UNLIKE = "when its step was taken apart, it ran at quite another speed"


def step_of(findings: Findings, setup: Setup) -> AnatomySize | None:
    """The step of a way to train, as its own trial saw it; null if there is none that belongs to its runs."""
    record = findings.anatomies.get(setup)
    told = record.measurement.anatomy if record is not None and record.measurement is not None else None
    if told is None or is_unlike(findings, setup):
        return None
    seen = [each for each in findings.anatomies.values() if each.measurement is not None]
    on_cpu = setup.settings.device == "cpu"
    return combine_size(setup.settings.batch_size, (told,), ceilings_of(seen), on_cpu)


def is_unlike(findings: Findings, setup: Setup) -> bool:
    """Whether the trial that took the step apart contradicts the runs end to end, with which its phases are told."""
    record, fed = findings.anatomies.get(setup), [each for each in findings.runs(setup) if each.spec.kind == "feed"]
    own = None if record is None else own_rate(record)
    return own is not None and bool(fed) and are_apart((own, rate_of(fed).examples_per_second))


def shares_of(step: AnatomySize | None) -> tuple[StepShare, ...]:
    if step is None:
        return ()
    return tuple(
        StepShare(
            phase=name, seconds=cost.seconds, share=cost.share, seconds_per_example=cost.seconds / step.batch_size
        )
        for name, cost in step.phases.items()
    )


def bound_of(findings: Findings, setup: Setup) -> str:
    """`compute`, `launch`, `memory`, `transfer`, or `data` with the stage that costs most."""
    step = step_of(findings, setup)
    waits = waiting_gain(findings, setup) > WAITS
    bound = step.bound if step is not None else DATA if waits else COMPUTE
    word = bound.removesuffix("-bound")
    cause = _costliest(findings, setup) if bound == DATA else None
    return word if cause is None else f"{word}: {cause}"


def _costliest(findings: Findings, setup: Setup) -> str | None:
    probe = findings.probes.get(supplier_of(setup))
    told = probe.measurement.loading if probe is not None and probe.measurement is not None else None
    if told is None or not told.stages:
        return None
    return CAUSE_OF_STAGE[max(told.stages, key=lambda stage: stage.seconds).stage]


def headroom_of(records: Sequence[TrialRecord], step: AnatomySize | None, unseen: str = NOT_SEEN) -> Headroom:
    """The fed rate as a share of that of resident data in the same processes, and the shares of the ceilings."""
    told = [record.measurement for record in records if record.measurement is not None]
    rates = [(sustained(each), resident) for each in told if (resident := resident_of(each)) is not None]
    shares = [
        ratio_interval(fed.step_seconds, fed.ci95, resident.step_seconds, resident.ci95) for fed, resident in rates
    ]
    share = combine_processes([each for each, _ in shares], [interval for _, interval in shares]) if shares else None
    resident_rates = [resident.examples_per_second for _, resident in rates]
    used = None if step is None else step.utilization
    return Headroom(
        resident_examples_per_second=sum(resident_rates) / len(resident_rates) if resident_rates else None,
        share_of_resident=None if share is None else share[0],
        share_of_resident_ci95=None if share is None else share[1],
        flops_share=None if used is None else used.flops_share,
        bytes_share=None if used is None else used.bytes_share,
        unknown_because=unseen if used is None else used.unknown_because,
    )
