"""The study behind `find`: the baseline, where its time goes, the search there, and the last rounds.

It is one generator that hands out trials and is sent their records; `ask` replays it over the history.
"""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.choice import NEAR_EQUAL, choose
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import supplier_of
from traindyno.analysis.intervals import relative_half_width
from traindyno.analysis.sustained import sustained
from traindyno.core.records import Measurement, TrialRecord, TrialSpec
from traindyno.search.find.finish import know_the_step, last_rounds, leave_the_margin, look_at_result, take_apart
from traindyno.search.find.goal import Goal
from traindyno.search.find.holding import hold_enough_workers, hold_what_ran
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.hurry import search_in_a_hurry
from traindyno.search.find.losses import LossLook
from traindyno.search.find.noise import NOISE_RUNS, know_the_noise
from traindyno.search.find.purse import Purse
from traindyno.search.find.sides import Sides
from traindyno.search.find.sizes import SizeSearch
from traindyno.search.find.trials import Trials
from traindyno.search.replaying import Trying, Wanted, proposal_of, replay
from traindyno.search.strategy import Proposal

GRADIENT_NOISE = "gradient noise"
WITH_NEW_BUDGET = "with a new budget"
USUAL_TRIALS = {"baseline": 3, "data": 6, "step": 6, "losses": 4, GRADIENT_NOISE: NOISE_RUNS, "batch": 4}
USUAL_ENTRIES = 3
MOST_LOOKS = 3
DISTURBED = 0.1
"""A rate whose interval reaches further than this share of it says little."""


class FindPlan:
    """The strategy behind `find`. The template says workload, budget of a trial, seed and limits."""

    def __init__(self, template: TrialSpec, goal: Goal) -> None:
        self._goal = goal
        self._trials = Trials(template, has_data=goal.has_data)
        self._trial_seconds = template.budget.seconds or 0.0

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        hunt = self._begun(history)
        wanted = replay(_study(hunt), history)
        if wanted is None:
            return None
        left = _trials_left(hunt)
        return proposal_of(wanted, expected_trials=len(history) + max(1, left))

    def findings(self, history: Sequence[TrialRecord]) -> Findings:
        """What the trials so far have shown.

        With a new budget a search may go another way, and end there with less than it had confirmed, or before it has
        proved anything. What was clearly better then stands; the rest led nowhere.
        """
        found = self._replayed(history, self._goal)
        for number, budget in reversed(tuple(enumerate(self._goal.budgets))):
            goal = msgspec.structs.replace(self._goal, budgets=self._goal.budgets[:number])
            before = self._replayed(history[: budget.trials], goal)
            if NEAR_EQUAL * _proved(before, goal) > _proved(found, goal):
                found = before
        used = {record.spec.key for _, record in found.log}
        found.log += [(WITH_NEW_BUDGET, each) for each in history if each.spec.key not in used]
        return found

    def _replayed(self, history: Sequence[TrialRecord], goal: Goal) -> Findings:
        hunt = self._begun(history, goal)
        replay(_study(hunt), history)
        return hunt.findings

    def _begun(self, history: Sequence[TrialRecord], goal: Goal | None = None) -> Hunt:
        goal = self._goal if goal is None else goal
        findings = Findings(
            baseline=goal.baseline,
            held=goal.baseline,
            usable_cpus=goal.usable_cpus,
            has_data=goal.has_data,
            trains=self._trials.template.workload.mode == "train",
        )
        return Hunt(goal, self._trials, findings, Purse(goal, findings, self._trial_seconds, history))


def _proved(findings: Findings, goal: Goal) -> float:
    """What rounds have shown to be faster is worth; nothing where they have not."""
    if len(findings.entries) <= 1:
        return 0.0
    choice = choose(findings, goal.batch_range)
    return choice.recommended.worth if choice.is_shown else 0.0


def _study(hunt: Hunt) -> Trying[None]:
    yield from hunt.logged("baseline", _look_at_baseline(hunt))
    if hunt.findings.baseline_failure is not None:
        return
    sides, losses = Sides(hunt), LossLook(hunt)
    yield from sides.run()
    yield from search_in_a_hurry(hunt)
    yield from hunt.logged("losses", losses.run())
    if not hunt.purse.hurries:
        yield from sides.run_again()
        yield from sides.go_on()
        yield from hunt.logged("losses", losses.run())
    yield from hunt.logged("memory", know_the_step(hunt))
    yield from hunt.logged("memory", leave_the_margin(hunt))
    hold_what_ran(hunt)
    hold_enough_workers(hunt)
    if hunt.goal.may_change("batch_size"):
        yield from _search_batch(hunt)
    yield from hunt.logged("last rounds", last_rounds(hunt))
    yield from hunt.logged("last rounds", look_at_result(hunt))
    hunt.findings.ended = True
    hunt.findings.seconds_left = hunt.purse.unspent()


def _search_batch(hunt: Hunt) -> Trying[None]:
    """Which batch is soonest at the same loss is not asked where the noise scale is not known."""
    if hunt.goal.asks_for_loss:
        yield from hunt.logged(GRADIENT_NOISE, know_the_noise(hunt))
        if hunt.findings.noise_scale is None:
            return
    yield from hunt.logged("batch", SizeSearch(hunt).run())


def _look_at_baseline(hunt: Hunt) -> Trying[None]:
    """End to end as the user has it, then its parts."""
    baseline, findings = hunt.goal.baseline, hunt.findings
    for repeat in range(MOST_LOOKS):
        reason = "the baseline, end to end" if repeat == 0 else "the baseline once more: it was disturbed"
        record = yield Wanted(spec=hunt.trials.end_to_end(baseline, repeat), reason=reason)
        findings.note_feed(baseline, record)
        if not findings.runs(baseline):
            findings.baseline_failure = record
            return
        if (
            record.measurement is None
            or not _is_disturbed(record.measurement)
            or not hunt.purse.affords_to_look_closer("feed")
        ):
            break
    if hunt.goal.has_data:
        reason = "what an example and a step cost by themselves"
        probe = yield Wanted(spec=hunt.trials.probe(baseline, with_model=True), reason=reason)
        if probe.measurement is not None:
            findings.probes[supplier_of(baseline)] = probe
            findings.note_resident(probe)
    if hunt.purse.affords_to_look_closer("anatomy"):
        yield from take_apart(hunt, baseline, "the baseline's step taken apart")


def _is_disturbed(measurement: Measurement) -> bool:
    """Everything is compared with the baseline: a first look at it that says next to nothing must not be the last."""
    rate = sustained(measurement)
    return relative_half_width(rate.step_seconds, rate.ci95) > DISTURBED


def _trials_left(hunt: Hunt) -> int:
    """A rough count: the usual trials of the parts that have not begun, and the last rounds."""
    begun, entries = {part for part, _ in hunt.findings.log}, hunt.findings.entries
    idle = {"data": not hunt.goal.has_data, GRADIENT_NOISE: hunt.goal.recipe is None}
    parts = [part for part in USUAL_TRIALS if part not in begun and not idle.get(part)]
    before = 0 if entries else sum(USUAL_TRIALS[part] for part in parts)
    done = sum(len(entry.records) for entry in entries)
    return before + (len(entries) or USUAL_ENTRIES) * hunt.goal.repeats - done + 1
