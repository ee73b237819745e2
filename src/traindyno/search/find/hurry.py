"""A search whose time does not reach for any change with all the rounds that should prove it.

One change is then tried with as many rounds as there is time for, one at least; a gain of a single round is told as not
confirmed. If not even that can be paid for, what should be the fastest goes straight to that round.
"""

from traindyno.analysis.find.attempts import bet_on, out_of_time
from traindyno.analysis.find.forecast import estimates_of, forecast_seconds
from traindyno.analysis.find.untried import untried_changes
from traindyno.analysis.worker_choice import fewest_near_best
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.sides import WORTH_SEARCHING, Sides
from traindyno.search.find.trials import changed
from traindyno.search.find.worker_trials import allowed_counts, workers_for
from traindyno.search.replaying import Trying


def search_in_a_hurry(hunt: Hunt) -> Trying[None]:
    """Nothing where something was tried already, or all that was left out was so for another reason than time."""
    if hunt.findings.has_tried or not untried_changes(hunt.findings):
        return
    hunt.findings.attempts.clear()
    hunt.purse.hurries = True
    yield from Sides(hunt).run()
    if not hunt.findings.has_tried:
        _bet_on_forecast(hunt)


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
