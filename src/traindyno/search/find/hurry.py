"""A search whose time does not reach for any change with all the rounds that should prove it.

One change is then tried with as many rounds as there is time for, one at least; a gain of a single round is told as not
confirmed. If not even that can be paid for, what should be the fastest goes straight to that round.
"""

from collections.abc import Sequence

from traindyno.analysis.find.attempts import bet_on, out_of_time
from traindyno.analysis.find.forecast import estimates_of, forecast_seconds
from traindyno.analysis.find.untried import untried_changes
from traindyno.analysis.worker_choice import fewest_near_best
from traindyno.core.answers.find import Attempt
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.sides import WORTH_SEARCHING, Sides
from traindyno.search.find.trials import changed
from traindyno.search.find.worker_trials import allowed_counts, workers_for
from traindyno.search.replaying import Trying


def search_in_a_hurry(hunt: Hunt) -> Trying[None]:
    """Nothing where something was found already, or all that was left out was so for another reason than time."""
    findings, baseline = hunt.findings, hunt.goal.baseline
    if findings.held != baseline or not untried_changes(findings):
        return
    tried = [each for each in findings.attempts if each.trials]
    findings.attempts, hunt.purse.hurries = [], True
    yield from Sides(hunt).run()
    findings.attempts = [*_not_repeated(tried, findings.attempts), *findings.attempts]
    if findings.held == baseline:
        _bet_on_forecast(hunt)


def _not_repeated(tried: Sequence[Attempt], again: list[Attempt]) -> Sequence[Attempt]:
    """What was tried before, once: where it came up again, its trials were not, and what is said of it stands."""
    for each in tried:
        again[:] = [other for other in again if other.change != each.change or other.adopted]
    adopted = {each.change for each in again if each.adopted}
    return [each for each in tried if each.change not in adopted]


def _bet_on_forecast(hunt: Hunt) -> None:
    """Hold the worker count that the simulation speaks for; the rounds show whether it was right."""
    findings, baseline = hunt.findings, hunt.goal.baseline
    estimates = estimates_of(findings, baseline, allowed_counts(hunt.goal, findings, baseline))
    now = forecast_seconds(findings, baseline)
    if not estimates or now is None:
        return
    best = fewest_near_best(estimates)
    worthwhile = now >= WORTH_SEARCHING * best.seconds and best.num_workers != baseline.settings.num_workers
    setup = changed(baseline, {"num_workers": best.num_workers})
    if worthwhile and hunt.purse.affords_one_round(setup, best.seconds):
        findings.held = setup
        untried = out_of_time("data", workers_for(baseline))
        findings.attempts = [each for each in findings.attempts if each != untried]
        findings.attempts.append(bet_on(findings, now / best.seconds))
