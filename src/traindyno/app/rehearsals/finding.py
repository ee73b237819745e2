"""Dry runs of `find` and `verify`."""

from traindyno.analysis.find.words import changes_in_words
from traindyno.app.find import find_plan, settled_find
from traindyno.app.find_checks import check_find
from traindyno.app.find_words import find_cost_words, find_seconds, search_lines
from traindyno.app.loader_workload import has_data
from traindyno.app.rehearsals.telling import rehearsal, settled, template, told
from traindyno.app.trial_costs import compiling_seconds, expected_trials, longest_trial_seconds
from traindyno.app.verify import check_verify, settled_verify, verify_plan
from traindyno.core.answers import Rehearsal
from traindyno.core.requests import FindRequest, VerifyRequest
from traindyno.core.units import count_of


def rehearse_find(request: FindRequest, *, data_is_there: bool = True) -> Rehearsal:
    """The search, as long as nobody knows what it will find."""
    bench = settled(request.bench)
    request = check_find(settled_find(request, bench), data_is_there=data_is_there)
    fed = has_data(request.workload)
    plan = find_plan(request, template(bench, request.workload, "feed"), has_data=fed)
    lines = [f"model: {request.workload.model} ({request.workload.mode})", *search_lines(request, has_data=fed)]
    expected = expected_trials(plan)
    cost = find_cost_words(request, expected)
    return told("find", bench, bench.precision, expected, find_seconds(request, expected), [*lines, cost])


def rehearse_verify(request: VerifyRequest) -> Rehearsal:
    """Rounds of two."""
    bench = settled(request.bench)
    request = settled_verify(request, bench)
    check_verify(request)
    plan = verify_plan(request, template(bench, request.workload, "feed"), has_data=has_data(request.workload))
    changes = request.recommended.changes(request.baseline)
    lines = [
        f"model: {request.workload.model} ({request.workload.mode})",
        f"changes: {changes_in_words(changes) or 'none'}",
        f"both in {count_of(request.repeats, 'round')} of fresh processes",
    ]
    expected = expected_trials(plan)
    arms = [setup.settings for setup in (request.baseline, request.recommended)]
    compiling = sum(compiling_seconds(mode) for mode in {each.compile for each in arms})
    seconds = longest_trial_seconds(request.trial_seconds) + compiling / max(1, expected)
    precision = " and ".join(dict.fromkeys(each.precision for each in arms))
    return rehearsal("verify", bench, expected, seconds, lines, precision)
