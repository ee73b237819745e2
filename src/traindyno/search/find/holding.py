"""What is held when the search is over and has not run with the step as it is by now: settled without a trial.

The last rounds show whether that was right.
"""

from collections.abc import Sequence

from traindyno.analysis.find.attempts import UNCOMPARED, enough_workers, out_of_time, rather_what_ran, uncompared
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import estimates_of, forecast_seconds, like_but_workers, supplier_of
from traindyno.analysis.find.words import changes_in_words
from traindyno.analysis.worker_choice import fewest_near_best
from traindyno.analysis.worker_estimates import Estimate
from traindyno.core.setups import Setup, step_settings
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.trials import changed
from traindyno.search.find.worker_trials import OTHER_NUMBERS, WORTH_ADOPTING, allowed_counts, workers_for

WORTH_HOLDING = 1.03
"""What the simulation must foretell for more workers to be held without a run."""


def hold_what_ran(hunt: Hunt) -> None:
    """Rather than something that has not run with the step as it is, hold what has, if the other should be slower."""
    findings, held = hunt.findings, hunt.findings.held
    rates = {setup: rate for setup in uncompared(findings) if (rate := findings.rate(setup)) is not None}
    foretold = forecast_seconds(findings, held)
    if held in findings.feeds or foretold is None or not rates:
        return
    fastest = min(rates, key=lambda setup: rates[setup].step_seconds)
    ratio, change = foretold / rates[fastest].step_seconds, changes_in_words(fastest.changes(held))
    if ratio >= WORTH_ADOPTING:
        waiting = (change, UNCOMPARED)
        findings.attempts = [
            rather_what_ran(each, ratio) if (each.change, each.outcome) == waiting else each
            for each in findings.attempts
        ]
        findings.held = fastest


def hold_enough_workers(hunt: Hunt) -> None:
    """Take the workers that the step needs by now, where there was no time to try them.

    They were chosen for an older step. On a GPU more of them take nothing from the step, and the last rounds show
    whether it gained.
    """
    goal, findings, held = hunt.goal, hunt.findings, hunt.findings.held
    untried = out_of_time("data", workers_for(held)), out_of_time("data", f"{OTHER_NUMBERS}{workers_for(held)}")
    is_open = not like_but_workers(findings, held) or any(each in findings.attempts for each in untried)
    may_change = goal.on_gpu and goal.has_data and goal.may_change("num_workers") and held != goal.baseline
    if not is_open or not may_change or _more_were_slower(findings, held):
        return
    own = held.settings.num_workers
    foretold = estimates_of(findings, held, sorted({own, *allowed_counts(goal, findings, held)}))
    if not foretold:
        return
    estimates = _with_time(hunt, foretold)
    best, now = fewest_near_best(estimates), next(each for each in estimates if each.num_workers == own)
    if best.num_workers > own and now.seconds >= WORTH_HOLDING * best.seconds:
        setup = changed(held, {"num_workers": best.num_workers})
        findings.attempts = [each for each in findings.attempts if each not in untried]
        findings.attempts.append(enough_workers(findings, setup, now.seconds / best.seconds))
        findings.held = setup


def _with_time(hunt: Hunt, estimates: Sequence[Estimate]) -> list[Estimate]:
    """Those with time for the round without which nothing is shown, which takes longer with more workers.

    All of them, where what is held should gain nothing without more: a round that is cut then loses nothing.
    """
    findings, held = hunt.findings, hunt.findings.held
    before, now = forecast_seconds(findings, findings.baseline), forecast_seconds(findings, held)
    if before is not None and now is not None and before < WORTH_HOLDING * now:
        return list(estimates)
    return [each for each in estimates if each.num_workers <= held.settings.num_workers or _has_time(hunt, each)]


def _has_time(hunt: Hunt, estimate: Estimate) -> bool:
    setup = changed(hunt.findings.held, {"num_workers": estimate.num_workers})
    return hunt.purse.affords_one_round(setup, estimate.seconds)


def _more_were_slower(findings: Findings, setup: Setup) -> bool:
    """Whether, with any step, more workers than these were slower than these, or fewer."""
    own = setup.settings.num_workers
    ran = {each: rate for each in findings.feeds if _is_from(each, setup) and (rate := findings.rate(each)) is not None}
    return any(
        slow.step_seconds > WORTH_HOLDING * rate.step_seconds
        for more, slow in ran.items()
        for fewer, rate in ran.items()
        if fewer.settings.num_workers <= own < more.settings.num_workers and _same_step(fewer, more)
    )


def _is_from(setup: Setup, other: Setup) -> bool:
    return supplier_of(setup) == supplier_of(other)


def _same_step(one: Setup, other: Setup) -> bool:
    """Whatever their workers, and whether their batches are pinned."""
    return step_settings(one.settings) == step_settings(other.settings)
