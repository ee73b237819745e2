"""The end of a search: the margin of memory, the rounds that prove the gain, and a last look at the step."""

from collections.abc import Sequence

from traindyno.analysis.find.attempts import NO_MARGIN
from traindyno.analysis.find.choice import choose, setup_of
from traindyno.analysis.find.rounds import BASELINE, FEWEST_ROUNDS, FIRST_ROUND, Entry
from traindyno.analysis.find.simpler import near_equals, predicted_rate
from traindyno.analysis.intervals import relative_half_width
from traindyno.core.answers.interval import Interval
from traindyno.core.setups import Setup, step_settings
from traindyno.search.find.giving_up import give_up, step_back
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.margin import is_clearly_free
from traindyno.search.find.rounds import one_round
from traindyno.search.find.trials import changed
from traindyno.search.replaying import Trying, Wanted

OWN_BATCH = "at your batch"
ANY_BATCH = "with any batch"
BARELY, ALIKE = 0.95, 1.05
"""How much of what the last round took there must be for a round without which nothing is shown, and for others."""
MOST_TIMES = 2
HARDLY_KNOWN = 0.1
"""Half the width of the interval of a gain, as a share of it."""


def know_the_step(hunt: Hunt) -> Trying[None]:
    """What is left after something was given up may never have run: its step is the measure of all that follows."""
    held = hunt.findings.held
    if hunt.findings.resident_seconds(held.settings) is None:
        record = yield Wanted(spec=hunt.trials.resident(held), reason="the step of what is left")
        hunt.findings.note_resident(record)


def leave_the_margin(hunt: Hunt) -> Trying[None]:
    """What is held must run with the margin of memory held back, or its switches are given up."""
    findings, margin = hunt.findings, hunt.goal.margin
    settings = findings.held.settings
    if not findings.members or findings.memory_share(settings) is None or is_clearly_free(findings, settings, margin):
        return
    reason = "what is held with the margin of memory held back"
    record = yield Wanted(spec=hunt.trials.fits(findings.held, margin), reason=reason)
    findings.fits[step_settings(findings.held.settings)] = record.measurement is not None
    if record.measurement is None:
        give_up(findings, findings.members, NO_MARGIN)
        yield from know_the_step(hunt)


def last_rounds(hunt: Hunt) -> Trying[None]:
    """Whoever may be recommended, by turns with the baseline, as often as there is time for.

    A round without which nothing is confirmed may come out a little late. Where rounds differ so much that the gain is
    hardly known, up to twice as many use what the last look leaves of a budget.
    """
    _let_workers_persist(hunt)
    entries = hunt.findings.entries = _entries(hunt)
    if len(entries) == 1:
        return
    repeats = max(FEWEST_ROUNDS, hunt.goal.repeats)
    for number in range(MOST_TIMES * repeats):
        if not _has_rivals(hunt) or (number >= repeats and not _differ(hunt)):
            return
        is_there = all(hunt.purse.has_run(hunt.trials.end_to_end(each.setup, FIRST_ROUND + number)) for each in entries)
        if number > 0 and not is_there and not _affords(hunt, number, repeats):
            return
        yield from one_round(hunt.trials, entries, number, hunt.goal.seed, max(repeats, number + 1))


def _has_rivals(hunt: Hunt) -> bool:
    """Whether anyone is left to be compared with the baseline; where all have failed, what was held before enters."""
    findings, entries = hunt.findings, hunt.findings.entries
    while entries[0].failure is None and _all_failed(entries[1:]) and step_back(findings):
        if findings.held not in [entry.setup for entry in entries]:
            entries.append(Entry(name=f"{OWN_BATCH}, try {len(entries)}", setup=findings.held))
    return not _all_failed(entries[1:])


def _all_failed(entries: Sequence[Entry]) -> bool:
    return all(entry.failure is not None for entry in entries)


def _affords(hunt: Hunt, number: int, repeats: int) -> bool:
    """Whether there is time for this round; for one that was not asked for, with the last look at what is shown."""
    choice = choose(hunt.findings, hunt.goal.batch_range)
    if number < FEWEST_ROUNDS or not choice.is_shown:
        return hunt.purse.affords_round(BARELY)
    return hunt.purse.affords_round(ALIKE, last_look=setup_of(choice.recommended) if number >= repeats else None)


def _differ(hunt: Hunt) -> bool:
    """Whether the gain that the rounds show is hardly known, and there is a budget to spend on it."""
    best = choose(hunt.findings, hunt.goal.batch_range).most_promising
    is_open = is_hardly_known(best.speedup, best.speedup_ci95) or (best.speedup > 1.0 and not best.confirmed)
    return is_open and hunt.purse.budget_seconds is not None


def is_hardly_known(speedup: float, interval: Interval) -> bool:
    """Whether a gain is worth more rounds than were asked for."""
    return speedup > 1.0 and relative_half_width(speedup, interval) > HARDLY_KNOWN


def look_at_result(hunt: Hunt) -> Trying[None]:
    """The step of what will be recommended, taken apart, and the baseline's where there was no time for it before."""
    found = setup_of(choose(hunt.findings, hunt.goal.batch_range).recommended)
    for setup in dict.fromkeys((found, hunt.goal.baseline)):
        if setup not in hunt.findings.anatomies and hunt.purse.affords_last_look(setup):
            what = "the baseline's step" if setup == hunt.goal.baseline else "the step of what was found"
            yield from take_apart(hunt, setup, f"{what} taken apart")


def take_apart(hunt: Hunt, setup: Setup, reason: str) -> Trying[None]:
    hunt.findings.anatomies[setup] = yield Wanted(spec=hunt.trials.anatomy(setup), reason=reason)


def _let_workers_persist(hunt: Hunt) -> None:
    """Workers that stay from epoch to epoch cost nothing while training runs, and save their start."""
    findings = hunt.findings
    if hunt.goal.has_data and hunt.goal.may_change("persistent_workers"):
        findings.held = findings.held if findings.held == hunt.goal.baseline else _persisting(findings.held)
        findings.free = None if findings.free is None else _persisting(findings.free)


def _persisting(setup: Setup) -> Setup:
    return changed(setup, {"persistent_workers": True}) if setup.settings.num_workers > 0 else setup


def _entries(hunt: Hunt) -> list[Entry]:
    """The baseline, the best at its batch and with any, and simpler ones as far as there is time for them."""
    findings, baseline = hunt.findings, hunt.goal.baseline
    free = [] if findings.free is None else [(ANY_BATCH, findings.free)]
    entries = [
        Entry(name=name, setup=setup, predicted_examples_per_second=predicted_rate(findings, setup))
        for name, setup in [(BASELINE, baseline), (OWN_BATCH, findings.held), *free]
        if name == BASELINE or setup != baseline
    ]
    known = {entry.setup for entry in entries}
    simpler = near_equals(findings, hunt.goal.may_change("num_workers"))
    entries += [entry for entry in simpler if entry.setup not in known]
    paid = hunt.purse.entries_paid_for([entry.setup for entry in entries])
    return entries[: max(2, paid)]
