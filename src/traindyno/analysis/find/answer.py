"""The conclusion of `find`."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.attempts import UNPROVED, UNSHOWN, left_out_again, not_kept
from traindyno.analysis.find.choice import Choice, choose, setup_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import epoch_edge
from traindyno.analysis.find.grounds import grounds_of
from traindyno.analysis.find.offers import offers
from traindyno.analysis.find.rounds import failures
from traindyno.analysis.find.steadiness import ran_steadily
from traindyno.analysis.find.steps import bound_of, contradicts, fed_by, headroom_of, shares_of, step_of
from traindyno.analysis.find.training import Trained, training_time, with_rate
from traindyno.analysis.find.verdicts import constraints_of, find_verdicts, margin_words, missed_verdicts
from traindyno.analysis.probes import examples_in_data, image_size
from traindyno.core.answers.find import Attempt, Finalist, FindAnswer, TimeSpent
from traindyno.core.records import TrialRecord
from traindyno.core.requests import FindRequest


def conclude_find(
    request: FindRequest,
    findings: Findings,
    *,
    history: Sequence[TrialRecord],
    seconds: float,
    simulated: bool = False,
) -> FindAnswer:
    """Everything the trials say, also when the search was cut short."""
    choice = _told(choose(findings, request.batch_range), request, findings)
    found = setup_of(choice.recommended)
    before, after = step_of(findings, findings.baseline), step_of(findings, found)
    bounds = (bound_of(findings, findings.baseline), bound_of(findings, found))
    headroom = headroom_of(fed_by(findings, found), after, contradicts(findings, found))
    examples = request.epoch_examples or examples_in_data(history)
    trained = [_trained(findings, finalist, examples) for finalist in (choice.baseline, choice.recommended)]
    answer = FindAnswer(
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
        failed=tuple(failures(findings.entries)),
        step_before=shares_of(before),
        step_after=shares_of(after),
        attempts=_attempts(findings, choice),
        spent=_spent(findings),
        constraints=(*constraints_of(request, findings), *margin_words(request, findings, choice.recommended)),
        offered=offers(request, findings, found),
        training_time=training_time(request, examples, trained[0], trained[1], findings.noise),
        verdicts=find_verdicts(request, findings, choice, bounds),
        image_size=image_size(history),
        simulated=simulated,
        objective=request.objective,
        noise_scale=findings.noise_scale,
        noise_scale_ci95=None if findings.noise is None else findings.noise.ci95,
    )
    return msgspec.structs.replace(answer, verdicts=(*answer.verdicts, *missed_verdicts(answer)))


def _trained(findings: Findings, finalist: Finalist, examples: int | None) -> Trained:
    setup = setup_of(finalist)
    return Trained(finalist, findings.runs(setup), epoch_edge(findings, setup, examples or 0))


def _attempts(findings: Findings, choice: Choice) -> tuple[Attempt, ...]:
    """Every attempt; where a simpler way won the rounds, or the baseline, what it does without says so."""
    held, found = findings.held, setup_of(choice.recommended)
    held_ran = any(each.confirmed and setup_of(each) == held for each in choice.everyone)
    if not choice.recommended.changes:
        return tuple(not_kept(each, UNSHOWN if held_ran else UNPROVED) for each in findings.attempts)
    if not choice.recommended.confirmed or not held_ran or held == found:
        return tuple(findings.attempts)
    return tuple(left_out_again(each, held.settings, found.settings) for each in findings.attempts)


def _told(choice: Choice, request: FindRequest, findings: Findings) -> Choice:
    """Every finalist with what its batch asks of the learning rate, whether all trials of it were steady, and what its
    changes rest on.
    """
    records = [record for _, record in findings.log]

    def told(found: Finalist) -> Finalist:
        rated = with_rate(found, request, findings.noise_scale)
        steady, grounds = ran_steadily(records, setup_of(found)), grounds_of(findings, found)
        return msgspec.structs.replace(rated, steady=steady, rests_on=grounds)

    return msgspec.structs.replace(
        choice,
        baseline=told(choice.baseline),
        own=told(choice.own),
        free=None if choice.free is None else told(choice.free),
        recommended=told(choice.recommended),
        near_equal=tuple(told(each) for each in choice.near_equal),
        everyone=tuple(told(each) for each in choice.everyone),
    )


def _spent(findings: Findings) -> tuple[TimeSpent, ...]:
    parts = dict.fromkeys(part for part, _ in findings.log)
    seconds = {part: [record.seconds for name, record in findings.log if name == part] for part in parts}
    return tuple(TimeSpent(part=part, trials=len(each), seconds=sum(each)) for part, each in seconds.items())
