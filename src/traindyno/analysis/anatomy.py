"""The conclusion of an anatomy study: what a step is made of, and what limits it."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.anatomy_sizes import (
    anatomies,
    answer_size,
    ceilings_of,
    combine_size,
    coverage,
    instrument_cost,
    measured_sizes,
)
from traindyno.analysis.anatomy_verdicts import anatomy_verdicts
from traindyno.analysis.intervals import median
from traindyno.core.answers import AnatomyAnswer
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
    ceilings, on_cpu = ceilings_of(records), request.bench.device == "cpu"
    sizes = {size: combine_size(size, anatomies(records, size), ceilings, on_cpu) for size in measured_sizes(records)}
    about = answer_size(request.settings.batch_size, tuple(sizes))
    if about is None:
        raise NothingMeasuredError("no step could be taken apart", _why(records))
    chosen, seen = sizes[about], anatomies(records, about)
    cost, cost_ci95 = instrument_cost(seen)
    stall_seconds = chosen.phases["load"].seconds if "load" in chosen.phases else 0.0
    host_wait_seconds = median([each.load_wait_seconds for each in seen])
    answer = AnatomyAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        batch_size=about,
        phases=chosen.phases,
        step_seconds=chosen.step_seconds,
        ci95=chosen.ci95,
        coverage=coverage(seen),
        instrument_cost=cost,
        instrument_cost_ci95=cost_ci95,
        bound=chosen.bound,
        utilization=chosen.utilization,
        # A CPU is its own host: there is one wait.
        host_wait_seconds=stall_seconds if on_cpu else host_wait_seconds,
        stall_seconds=stall_seconds,
        idle_share=chosen.idle_share,
        host_share=chosen.host_share,
        sizes=tuple(sizes.values()),
        trace=trace,
        seconds=sum(record.seconds for record in history) if seconds is None else seconds,
        simulated=simulated,
    )
    return msgspec.structs.replace(answer, verdicts=anatomy_verdicts(request, answer, records))


def _why(records: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in records if record.failure is not None), None)
