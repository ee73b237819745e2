"""The step before and after, taken apart: its phases, what binds it, and what is left to gain."""

from traindyno.analysis.anatomy_bounds import COMPUTE, DATA, TRANSFER
from traindyno.analysis.anatomy_sizes import ceilings_of, combine_size
from traindyno.analysis.find.contradictions import contradiction
from traindyno.analysis.find.feeding import Feeding, feeding_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import supplier_of, waiting_gain
from traindyno.analysis.slowed_steps import SHARED
from traindyno.analysis.stall_causes import CAUSE_OF_STAGE
from traindyno.analysis.stall_verdicts import UNSETTLED
from traindyno.core.answers import AnatomySize
from traindyno.core.answers.find import Headroom, StepShare
from traindyno.core.loading import GPU_DECODER
from traindyno.core.setups import Setup

WAITS = 1.1
"""Where no run tells it, training that should gain so much without waiting is bound by its data."""

MOST = 0.5

NOT_SEEN = "the step was not taken apart"


def step_of(findings: Findings, setup: Setup) -> AnatomySize | None:
    """The step of a way to train, as its own trial saw it; null if there is none that belongs to its runs."""
    step = _seen(findings, setup)
    return None if step is None or contradiction(findings, setup, step) is not None else step


def contradicts(findings: Findings, setup: Setup) -> str | None:
    """How the trial that took the step apart contradicts the runs end to end, in words; null if it does not."""
    step = _seen(findings, setup)
    return None if step is None else contradiction(findings, setup, step)


def _seen(findings: Findings, setup: Setup) -> AnatomySize | None:
    record = findings.anatomies.get(setup)
    told = record.measurement.anatomy if record is not None and record.measurement is not None else None
    if told is None:
        return None
    seen = [each for each in findings.anatomies.values() if each.measurement is not None]
    return combine_size(setup.settings.batch_size, (told,), ceilings_of(seen), _on_cpu(setup))


def shares_of(step: AnatomySize | None) -> tuple[StepShare, ...]:
    if step is None:
        return ()
    return tuple(
        StepShare(
            phase=name, seconds=cost.seconds, share=cost.share, seconds_per_example=cost.seconds / step.batch_size
        )
        for name, cost in step.phases.items()
    )


def fed_by(findings: Findings, setup: Setup) -> Feeding | None:
    """Where the time of its runs end to end goes; null where nothing is loaded, or nothing ran."""
    return feeding_of(findings.runs(setup), on_cpu=_on_cpu(setup))


def bound_of(findings: Findings, setup: Setup) -> str:
    """`compute`, `launch`, `memory`, `transfer`, or `data` with the stage that costs most; `not settled` in doubt.

    A CPU tells its own wait, so that its runs end to end say it. On a GPU it is the step taken apart that does, unless
    it contradicts them, or they lose more of what it lost to its data. A step that is slower beside its workers than
    alone has `shared with the loader` after it.
    """
    fed, step = fed_by(findings, setup), step_of(findings, setup)
    if fed is not None and (_on_cpu(setup) or step is None):
        if not fed.is_settled:
            return UNSETTLED
        bound = DATA if fed.waits else COMPUTE
    elif step is not None:
        bound = DATA if fed is not None and _waits_longer(fed, step) else step.bound
    else:
        bound = DATA if waiting_gain(findings, setup) > WAITS else COMPUTE
    return _in_words(findings, setup, bound, fed)


def _waits_longer(fed: Feeding, step: AnatomySize) -> bool:
    """Whether the runs lose more than the trial that took the step apart, in which most of the loss was waiting."""
    resident = step.batch_size / fed.resident_examples_per_second
    lost, load = step.step_seconds - resident, step.phases.get("load")
    return fed.is_settled and fed.waits and load is not None and load.seconds > MOST * lost > 0


def _in_words(findings: Findings, setup: Setup, bound: str, fed: Feeding | None) -> str:
    word = bound.removesuffix("-bound")
    if bound == DATA:
        cause = _costliest(findings, setup)
        return word if cause is None else f"{word}: {cause}"
    shared = bound != TRANSFER and fed is not None and fed.slows_down and setup.settings.num_workers > 0
    return f"{word}{SHARED}" if shared else word


def _on_cpu(setup: Setup) -> bool:
    return setup.settings.device == "cpu"


def _costliest(findings: Findings, setup: Setup) -> str | None:
    """The stage that takes longest per example. Workers share theirs; a GPU that decodes has only itself."""
    probe = findings.probes.get(supplier_of(setup))
    told = probe.measurement if probe is not None else None
    if told is None or told.loading is None or not told.loading.stages:
        return None
    workers = max(1, setup.settings.num_workers)
    costs = {stage.stage: stage.seconds / workers for stage in told.loading.stages}
    if setup.settings.decoder == GPU_DECODER and told.loading.transfer_seconds is not None:
        costs["decode"] = told.loading.transfer_seconds / told.batch_size
    return CAUSE_OF_STAGE[max(costs, key=lambda stage: costs[stage])]


def headroom_of(fed: Feeding | None, step: AnatomySize | None, unseen: str | None) -> Headroom:
    """The fed rate as a share of that of resident data in the same processes, and the shares of the ceilings."""
    used = None if step is None else step.utilization
    return Headroom(
        resident_examples_per_second=None if fed is None else fed.resident_examples_per_second,
        share_of_resident=None if fed is None else fed.of_resident,
        share_of_resident_ci95=None if fed is None else fed.ci95,
        waiting_share=None if fed is None else fed.waiting,
        slowed_share=None if fed is None else fed.longer,
        flops_share=None if used is None else used.flops_share,
        bytes_share=None if used is None else used.bytes_share,
        unknown_because=unseen or NOT_SEEN if used is None else used.unknown_because,
    )
