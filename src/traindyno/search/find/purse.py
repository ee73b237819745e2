"""How the time budget is spent: what is left for searching once the last rounds are paid for."""

from collections.abc import Sequence

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rounds import FEWEST_ROUNDS, FIRST_ROUND
from traindyno.analysis.switch_losses import SEEDS, STEPS
from traindyno.core.records import TrialKind, TrialRecord, TrialSpec
from traindyno.core.setups import Setup, step_settings
from traindyno.search.find.goal import Goal
from traindyno.search.find.prices import FEWEST_LOSS_STEPS, Prices, compiles

RESERVED_ROUNDS = 3
"""Two rounds give an interval by one difference, which is thirteen standard errors wide; three give one of four."""

RESERVED_SHARE = 0.4
"""Of the budget, beyond which there are fewer of them: a proof is no use where there was no time to find anything."""

SAFELY = 1.15
"""Trials of one kind do not take equally long."""

BETWEEN_TRIALS_SECONDS = 0.3
"""What deciding, starting and committing take for each trial."""

NOISE_SHARE = 1 / 3
"""Of the budget, for the runs whose gradients are read, where a search needs them."""


class Purse:
    """Decides by what the trials so far took, so that a replayed study decides the same.

    `hurries` says that the time does not reach for any change with all its rounds.
    """

    def __init__(
        self, goal: Goal, findings: Findings, trial_seconds: float, history: Sequence[TrialRecord] = ()
    ) -> None:
        self._goal, self._findings = goal, findings
        self.prices = Prices(goal, findings, trial_seconds)
        self._resumes = [(history[: budget.trials], budget.seconds) for budget in goal.budgets]
        self._known = frozenset(record.spec.key for record in history)
        self.hurries = False

    @property
    def budget_seconds(self) -> float | None:
        """For all of the search, as far as it has come; null without one.

        With a new budget for the rest, what was decided before is decided by the larger one: with less time nothing
        that was measured is dropped, and with more what there was no time for is asked for after all. A rest that
        does not reach for the rounds of something new leads nowhere else.
        """
        budget = self._goal.budget_seconds
        for before, rest in self._resumes:
            total = _seconds_of(before) + rest
            if len(self._findings.log) >= len(before):
                budget = total
            elif budget is not None and rest >= RESERVED_ROUNDS * SAFELY * 2 * self.prices.baseline_seconds:
                budget = max(budget, total)
        return budget

    def has_run(self, spec: TrialSpec) -> bool:
        """Whether a trial need not be paid for: it was run before the search was gone on with."""
        return spec.key in self._known

    def affords(self, kind: TrialKind, count: int = 1, extra_seconds: float = 0.0) -> bool:
        """Whether so many trials can be paid for without touching what the last rounds need."""
        return self.spare() >= count * self.prices.cost(kind) + extra_seconds

    def spare(self) -> float:
        """Seconds for searching, beside what the last rounds need."""
        return self.left(self._reserve(self.prices.baseline_seconds + self.prices.end_to_end_seconds))

    def affords_to_look_closer(self, kind: TrialKind) -> bool:
        """Whether another look at the baseline leaves enough for a first candidate, and for all rounds with it."""
        rounds = RESERVED_ROUNDS * SAFELY * 2 * self.prices.baseline_seconds
        return self.left(rounds) >= self.prices.cost(kind) + self.prices.baseline_seconds

    def affords_last_look(self, setup: Setup) -> bool:
        """Whether a step can be taken apart at the very end, when nothing else is to follow."""
        return self.left(0.0) >= self._last_look_seconds(setup)

    def _last_look_seconds(self, setup: Setup) -> float:
        least = self.prices.baseline_seconds if setup == self._findings.baseline else 0.0
        before = [record for _, record in self._findings.log if record.spec.kind == "anatomy"]
        is_new = setup.settings.compile != "none" and not any(map(compiles, before))
        starting = self.prices.compiled_seconds if is_new else 0.0
        return max(least, self.prices.cost("anatomy")) + starting

    def affords_one_round(self, setup: Setup, step_seconds: float | None) -> bool:
        """Whether a way to train whose steps should take so long can be compared with the baseline once."""
        return self.left(0.0) >= self.prices.baseline_seconds + self.prices.feed_seconds(setup, step_seconds)

    def affords_more_losses(self, trials: int) -> bool:
        """Whether so many runs like those so far can be paid for, each at their mean: several may have run at once."""
        seen = [record.seconds for _, record in self._findings.log if record.spec.kind == "losses"]
        return self.spare() >= trials * sum(seen) / len(seen)

    def affords_to_compile_again(self) -> bool:
        """Whether what is left of the switches can be compiled, its losses and its step looked at, with two rounds."""
        rounds = FEWEST_ROUNDS * (self.prices.baseline_seconds + self.prices.end_to_end_seconds)
        return (
            self.left(rounds)
            >= self.prices.compiling_seconds + self.prices.cost("losses") + self.prices.end_to_end_seconds
        )

    def affords_round(self, times: float, last_look: Setup | None = None) -> bool:
        """Whether there is time for another round, which takes so many times what the last one took, and for a last
        look at a step, if that is to follow.
        """
        rounds = [record for _, record in self._findings.log if record.spec.repeat >= FIRST_ROUND]
        last = max((record.spec.repeat for record in rounds), default=FIRST_ROUND)
        after = 0.0 if last_look is None else self._last_look_seconds(last_look)
        return self.left(after) >= times * sum(record.seconds for record in rounds if record.spec.repeat == last)

    def affords_feed(self, setup: Setup, step_seconds: float | None, beside_seconds: float = 0.0) -> bool:
        """Whether a run end to end can be paid for whose steps should take so long, and the last rounds with it."""
        cost = self.prices.feed_seconds(setup, step_seconds)
        return self.left(self._reserve(self.prices.baseline_seconds + cost)) >= beside_seconds + cost

    def entries_paid_for(self, setups: Sequence[Setup]) -> int:
        """How many of these ways to train the last rounds can be paid for; the first is the baseline."""
        left = self.left(RESERVED_ROUNDS * self.prices.baseline_seconds)
        for number, setup in enumerate(setups[1:], start=1):
            left -= RESERVED_ROUNDS * self.prices.end_to_end_seconds + self.prices.seconds_to_compile(setup)
            if left < 0:
                return number
        return len(setups)

    def left(self, reserve: float) -> float:
        unspent = self.unspent()
        return float("inf") if unspent is None else unspent - self._kept_for_noise() - self.kept_for_losses() - reserve

    def unspent(self) -> float | None:
        """What is left of the budget, whatever it is kept for; null without one."""
        budget, log = self.budget_seconds, [record for _, record in self._findings.log]
        return None if budget is None else budget - _seconds_of(log) - self._wasted_seconds(log)

    def _wasted_seconds(self, log: Sequence[TrialRecord]) -> float:
        """What was spent before a new budget and is of no use with it, known once the search goes another way."""
        before = self._resumes[-1][0] if self._resumes else ()
        used, known = {record.spec.key for record in log}, {record.spec.key for record in before}
        return 0.0 if used <= known else _seconds_of([each for each in before if each.spec.key not in used])

    def kept_for_losses(self) -> float:
        """What is held may change arithmetic: then its losses will be looked at, beside the baseline's seeds."""
        findings, held = self._findings, step_settings(self._findings.held.settings)
        is_open = findings.trains and held not in findings.loss_checks
        if not is_open or not any(member.changes_arithmetic for member in findings.members):
            return 0.0
        seen = any(record.spec.kind == "losses" for _, record in findings.log)
        return (1 if seen else SEEDS + 1) * self.prices.cost("losses")

    def _kept_for_noise(self) -> float:
        """A search for the time to the same loss must not have spent it all before it comes to that."""
        is_to_come = self._goal.recipe is not None and self._findings.noise is None
        return NOISE_SHARE * (self.budget_seconds or 0.0) if is_to_come else 0.0

    def loss_steps(self, trials: int) -> int:
        """How long the losses can be followed in so many trials: a hundred steps, or what there is time for."""
        left = (self.spare() + self.kept_for_losses()) / trials
        steps = range(STEPS, FEWEST_LOSS_STEPS - 1, -FEWEST_LOSS_STEPS)
        takes = {each: self.prices.losses_seconds(each, self.prices.is_compiled) for each in steps}
        return next((each for each in steps if takes[each] <= left), FEWEST_LOSS_STEPS)

    def _reserve(self, round_seconds: float) -> float:
        """The last rounds, of the baseline and of what is held; in a hurry one of them, for a first change."""
        if self.hurries and self._findings.held == self._goal.baseline:
            return round_seconds
        wanted, fewest = (SAFELY * rounds * round_seconds for rounds in (RESERVED_ROUNDS, FEWEST_ROUNDS))
        budget = self.budget_seconds
        return wanted if budget is None else min(wanted, max(fewest, RESERVED_SHARE * budget))


def _seconds_of(records: Sequence[TrialRecord]) -> float:
    return sum(record.seconds for record in records) + BETWEEN_TRIALS_SECONDS * len(records)
