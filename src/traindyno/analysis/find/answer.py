"""The conclusion of `find`."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.attempts import left_out_again
from traindyno.analysis.find.choice import Choice, choose, setup_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.offers import offers
from traindyno.analysis.find.steps import bound_of, headroom_of, shares_of, step_of
from traindyno.analysis.find.training import training_time, with_rate
from traindyno.analysis.find.verdicts import constraints_of, find_verdicts
from traindyno.analysis.probes import examples_in_data
from traindyno.core.answers.find import Finalist, FindAnswer, TimeSpent
from traindyno.core.records import TrialRecord
from traindyno.core.requests import FindRequest
from traindyno.core.setups import Setup


def conclude_find(
    request: FindRequest,
    findings: Findings,
    *,
    history: Sequence[TrialRecord],
    seconds: float,
    simulated: bool = False,
) -> FindAnswer:
    """Everything the trials say, also when the search was cut short."""
    choice = _with_rates(choose(findings, request.batch_range), request)
    found = setup_of(choice.recommended)
    before, after = step_of(findings, findings.baseline), step_of(findings, found)
    bounds = (bound_of(findings, findings.baseline), bound_of(findings, found))
    records = _records_of(findings, found)
    headroom = headroom_of(records, after)
    examples = request.epoch_examples or examples_in_data(history)
    trained = (choice.baseline, _records_of(findings, findings.baseline)), (choice.recommended, records)
    return FindAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        data=request.workload.data,
        batch_size=request.settings.batch_size,
        baseline=choice.baseline,
        recommended=choice.recommended,
        speedup=choice.recommended.speedup,
        speedup_ci95=choice.recommended.speedup_ci95,
        near_equal=choice.near_equal,
        bound_before=bounds[0],
        bound_after=bounds[1],
        headroom=headroom,
        trials=len(history),
        seconds=seconds,
        at_own_batch=choice.own,
        with_free_batch=choice.free,
        finalists=choice.everyone,
        step_before=shares_of(before),
        step_after=shares_of(after),
        attempts=tuple(left_out_again(attempt, choice.recommended) for attempt in findings.attempts),
        spent=_spent(findings),
        constraints=constraints_of(request),
        offered=offers(request, findings, found),
        training_time=training_time(request, examples, *trained),
        verdicts=find_verdicts(findings, choice, bounds, headroom),
        simulated=simulated,
    )


def _with_rates(choice: Choice, request: FindRequest) -> Choice:
    """Every finalist with what its batch asks of the learning rate."""

    def told(found: Finalist) -> Finalist:
        return with_rate(found, request)

    return msgspec.structs.replace(
        choice,
        own=told(choice.own),
        free=None if choice.free is None else told(choice.free),
        recommended=told(choice.recommended),
        near_equal=tuple(told(each) for each in choice.near_equal),
        everyone=tuple(told(each) for each in choice.everyone),
    )


def _records_of(findings: Findings, setup: Setup) -> list[TrialRecord]:
    """The runs end to end of a way to train: those of the last rounds, or else the ones before."""
    entry = next((entry for entry in findings.entries if entry.setup == setup and entry.measured), None)
    if entry is not None:
        return entry.measured
    return [record for record in findings.feeds.get(setup, ()) if record.measurement is not None]


def _spent(findings: Findings) -> tuple[TimeSpent, ...]:
    parts = dict.fromkeys(part for part, _ in findings.log)
    seconds = {part: [record.seconds for name, record in findings.log if name == part] for part in parts}
    return tuple(TimeSpent(part=part, trials=len(each), seconds=sum(each)) for part, each in seconds.items())
