"""The conclusion of an anatomy study: what a step is made of, and what limits it."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.anatomy_sizes import anatomies, answer_size, combine_size, instrument_cost, measured_sizes
from traindyno.analysis.anatomy_verdicts import anatomy_verdicts
from traindyno.analysis.intervals import median
from traindyno.core.answers import AnatomyAnswer, AnatomySize
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AnatomyRequest


def conclude_anatomy(
    request: AnatomyRequest,
    history: Sequence[TrialRecord],
    *,
    trace: str | None = None,
    seconds: float | None = None,
    simulated: bool = False,
) -> AnatomyAnswer:
    """Everything the trials say about the step. `seconds` defaults to the sum of the trials' own."""
    records = [record for record in history if record.outcome is not Outcome.INTERRUPTED]
    sizes = {size: combine_size(size, anatomies(records, size)) for size in measured_sizes(records)}
    about = answer_size(request.settings.batch_size, tuple(sizes))
    if about is None:
        raise NothingMeasuredError("no step could be taken apart", _why(records))
    chosen, seen = sizes[about], anatomies(records, about)
    cost, cost_ci95 = instrument_cost(seen)
    answer = AnatomyAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        batch_size=about,
        phases=chosen.phases,
        step_seconds=chosen.step_seconds,
        ci95=chosen.ci95,
        coverage=coverage(chosen),
        instrument_cost=cost,
        instrument_cost_ci95=cost_ci95,
        bound=chosen.bound,
        utilization=chosen.utilization,
        host_wait_seconds=median([each.load_wait_seconds for each in seen]),
        stall_seconds=chosen.phases["load"].seconds if "load" in chosen.phases else 0.0,
        idle_share=chosen.idle_share,
        host_share=chosen.host_share,
        sizes=tuple(sizes.values()),
        trace=trace,
        seconds=sum(record.seconds for record in history) if seconds is None else seconds,
        simulated=simulated,
    )
    return msgspec.structs.replace(answer, verdicts=anatomy_verdicts(request, answer, records))


def coverage(size: AnatomySize) -> float:
    """How much of the step without instruments the named phases explain."""
    return sum(cost.share for name, cost in size.phases.items() if name != "other")


def _why(records: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in records if record.failure is not None), None)
