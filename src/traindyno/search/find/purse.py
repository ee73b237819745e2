"""How the time budget is spent: what is left for searching once the last rounds are paid for."""

from collections.abc import Sequence

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rounds import FEWEST_ROUNDS, FIRST_ROUND
from traindyno.analysis.flow_pace import flow_seconds
from traindyno.analysis.switch_losses import LARGEST_BATCH, SEEDS, STEPS
from traindyno.core.records import Measurement, TrialKind, TrialRecord, TrialSpec
from traindyno.core.setups import Setup, step_settings
from traindyno.search.find.goal import Goal

COMPILING_SECONDS = 50.0
"""Assumed of a model that has not been compiled yet: three vision models took 24 to 55 s on an H200."""

COMPILED_SECONDS = 9.0
"""Assumed of the start of one that has."""

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

FEWEST_LOSS_STEPS = 25
_STARTING_SECONDS = 2.0


class Purse:
    """Decides by what the trials so far took, so that a replayed study decides the same.

    `hurries` says that the time does not reach for any change with all its rounds.
    """

    def __init__(
        self, goal: Goal, findings: Findings, trial_seconds: float, history: Sequence[TrialRecord] = ()
    ) -> None:
        self._goal, self._findings, self._trial_seconds = goal, findings, trial_seconds
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
            elif budget is not None and rest >= RESERVED_ROUNDS * SAFELY * 2 * self._baseline:
                budget = max(budget, total)
        return budget

    def has_run(self, spec: TrialSpec) -> bool:
        """Whether a trial need not be paid for: it was run before the search was gone on with."""
        return spec.key in self._known

    def affords(self, kind: TrialKind, count: int = 1, extra_seconds: float = 0.0) -> bool:
        """Whether so many trials can be paid for without touching what the last rounds need."""
        return self.spare() >= count * self.cost(kind) + extra_seconds

    def spare(self) -> float:
        """Seconds for searching, beside what the last rounds need."""
        return self.left(self._reserve(self._baseline + self._end_to_end))

    def affords_to_look_closer(self, kind: TrialKind) -> bool:
        """Whether another look at the baseline leaves enough for a first candidate, and for all rounds with it."""
        rounds = RESERVED_ROUNDS * SAFELY * 2 * self._baseline
        return self.left(rounds) >= self.cost(kind) + self._baseline

    def affords_last_look(self, setup: Setup) -> bool:
        """Whether a step can be taken apart at the very end, when nothing else is to follow."""
        least = self._baseline if setup == self._findings.baseline else 0.0
        before = [record for _, record in self._findings.log if record.spec.kind == "anatomy"]
        is_new = setup.settings.compile != "none" and not any(map(_compiles, before))
        return self.left(0.0) >= max(least, self.cost("anatomy")) + (self.compiled_seconds if is_new else 0.0)

    def affords_one_round(self, setup: Setup, step_seconds: float | None) -> bool:
        """Whether a way to train whose steps should take so long can be compared with the baseline once."""
        return self.left(0.0) >= self._baseline + self._feed_cost(setup, step_seconds)

    def affords_more_losses(self, trials: int) -> bool:
        """Whether so many runs like those so far can be paid for, each at their mean: several may have run at once."""
        seen = [record.seconds for _, record in self._findings.log if record.spec.kind == "losses"]
        return self.spare() >= trials * sum(seen) / len(seen)

    def affords_to_compile_again(self) -> bool:
        """Whether what is left of the switches can be compiled, its losses and its step looked at, with two rounds."""
        rounds = FEWEST_ROUNDS * (self._baseline + self._end_to_end)
        return self.left(rounds) >= self.compiling_seconds + self.cost("losses") + self._end_to_end

    def affords_round(self, times: float) -> bool:
        """Whether there is time for another round, which takes so many times what the last one took."""
        rounds = [record for _, record in self._findings.log if record.spec.repeat >= FIRST_ROUND]
        last = max((record.spec.repeat for record in rounds), default=FIRST_ROUND)
        return self.left(0.0) >= times * sum(record.seconds for record in rounds if record.spec.repeat == last)

    def affords_feed(self, setup: Setup, step_seconds: float | None, before_seconds: float = 0.0) -> bool:
        """Whether a run end to end can be paid for whose steps should take so long, and the last rounds with it."""
        cost = self._feed_cost(setup, step_seconds)
        return self.left(self._reserve(self._baseline + cost)) >= before_seconds + cost

    def _feed_cost(self, setup: Setup, step_seconds: float | None) -> float:
        """What a run end to end should take: it starts as the baseline's, and its steps and workers are its own.

        Trials end when they know enough: the baseline's shows which share of the most that is.
        """
        baseline, told = self._findings.baseline, self._findings.rate(self._findings.baseline)
        if step_seconds is None or told is None:
            return self._end_to_end
        most = flow_seconds(baseline.settings, told.step_seconds, self._trial_seconds)
        starting = max(min(_STARTING_SECONDS, self._baseline), self._baseline - most)
        share = (self._baseline - starting) / most
        compiled = self.compiled_seconds if self.is_compiled and not self._was_compiled else 0.0
        return compiled + starting + share * flow_seconds(setup.settings, step_seconds, self._trial_seconds)

    def entries_paid_for(self, setups: Sequence[Setup]) -> int:
        """How many of these ways to train the last rounds can be paid for; the first is the baseline."""
        left = self.left(RESERVED_ROUNDS * self._baseline)
        for number, setup in enumerate(setups[1:], start=1):
            left -= RESERVED_ROUNDS * self._end_to_end + self._compiling_seconds(setup)
            if left < 0:
                return number
        return len(setups)

    def _compiling_seconds(self, setup: Setup) -> float:
        """What a step that has not run yet takes to be compiled."""
        is_new = setup.settings.compile != "none" and self._findings.resident_seconds(setup.settings) is None
        return self.compiling_seconds if is_new else 0.0

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
        return (1 if seen else SEEDS + 1) * self.cost("losses")

    def _kept_for_noise(self) -> float:
        """A search for the time to the same loss must not have spent it all before it comes to that."""
        is_to_come = self._goal.recipe is not None and self._findings.noise is None
        return NOISE_SHARE * (self.budget_seconds or 0.0) if is_to_come else 0.0

    def cost(self, kind: TrialKind) -> float:
        """What the last trials of a kind took at most; compiling is counted apart."""
        if kind == "losses":
            return self.losses_cost(self.is_compiled)
        if kind == "pair":
            return self._pair_seconds()
        alike = [each for _, each in self._findings.log if each.spec.kind == kind and each.spec.against is None]
        if kind == "speed" and self.is_compiled:
            # A batch of another size has to be compiled for; without data the baseline was a trial of this kind too.
            alike = [each for each in alike if _compiles(each)]
            if not alike:
                return self.compiling_seconds + self._end_to_end
        return max(each.seconds for each in alike[-2:]) if alike else self._end_to_end

    def losses_cost(self, compiled: bool) -> float:
        """What a short run that tells its losses takes at least, where the step is compiled or not."""
        return self._losses_seconds(FEWEST_LOSS_STEPS, compiled)

    def _pair_seconds(self) -> float:
        """A pair on top of what is held; where that is compiled, the other step has to be compiled too."""
        alike = [seconds for pair, seconds in self._pairs() if _compiles(pair) == self.is_compiled]
        if alike:
            return max(alike[-2:]) if self.is_compiled else min(alike[-2:])
        plain = min(2 * self._end_to_end, 2 * _STARTING_SECONDS + 3 * self._trial_seconds)
        return plain + self.compiled_seconds + self.compiling_seconds if self.is_compiled else plain

    def _pairs(self) -> list[tuple[TrialRecord, float]]:
        """Each pair and what it took, with the trials that followed where its arms did not fit the device together."""
        pairs: list[tuple[TrialRecord, float]] = []
        for _, record in self._findings.log:
            if record.spec.kind == "pair":
                pairs.append((record, record.seconds))
            elif record.spec.against is not None and pairs:
                pairs[-1] = (pairs[-1][0], pairs[-1][1] + record.seconds)
        return pairs

    @property
    def compiling_seconds(self) -> float:
        """What a step takes to be compiled: as the first one took."""
        return max(self._first_steps, default=COMPILING_SECONDS)

    @property
    def compiled_seconds(self) -> float:
        """What the first step takes of one that has been compiled before."""
        return min([COMPILED_SECONDS, *self._first_steps])

    @property
    def _first_steps(self) -> list[float]:
        """Of those that are compiled. Compiling begins before the first step, with what it imports."""
        told = (record for _, record in self._findings.log if record.spec.settings.compile != "none")
        begun = [record.measurement for record in told if _begins_with_steps(record)]
        return [_start_seconds(each) for each in begun if each is not None]

    @property
    def is_compiled(self) -> bool:
        return self._findings.held.settings.compile != "none"

    @property
    def _was_compiled(self) -> bool:
        return self._findings.baseline.settings.compile != "none"

    def loss_steps(self, trials: int) -> int:
        """How long the losses can be followed in so many trials: a hundred steps, or what there is time for."""
        left = (self.spare() + self.kept_for_losses()) / trials
        steps = range(STEPS, FEWEST_LOSS_STEPS - 1, -FEWEST_LOSS_STEPS)
        takes = {each: self._losses_seconds(each, self.is_compiled) for each in steps}
        return next((each for each in steps if takes[each] <= left), FEWEST_LOSS_STEPS)

    def _losses_seconds(self, steps: int, compiled: bool) -> float:
        """A short run at a small batch, whose steps take as long as launching does at least.

        One that is compiled has the own batch, for which there is code already; compiling for another takes longer.
        """
        settings = self._findings.baseline.settings
        step = self._findings.resident_seconds(settings) or 0.0
        record = self._findings.anatomies.get(self._findings.baseline)
        told = record.measurement.anatomy if record is not None and record.measurement is not None else None
        launching = 0.0 if told is None else told.host_step_seconds or 0.0
        if compiled:
            starts = SEEDS + 1 if self._was_compiled else 1
            return steps * step + _STARTING_SECONDS + self.compiled_seconds * starts / (SEEDS + 1)
        small = max(step * min(1.0, LARGEST_BATCH / settings.batch_size), min(step, launching))
        return steps * small + _STARTING_SECONDS

    def _reserve(self, round_seconds: float) -> float:
        """The last rounds, of the baseline and of what is held; in a hurry one of them, for a first change."""
        if self.hurries and not self._findings.has_tried:
            return round_seconds
        wanted, fewest = (SAFELY * rounds * round_seconds for rounds in (RESERVED_ROUNDS, FEWEST_ROUNDS))
        budget = self.budget_seconds
        return wanted if budget is None else min(wanted, max(fewest, RESERVED_SHARE * budget))

    @property
    def _baseline(self) -> float:
        return self._again(self._runs[0]) if self._runs else 2 * self._trial_seconds

    @property
    def _end_to_end(self) -> float:
        """What is held: as its loader took last. What was tried and not held says nothing of the rounds to come."""
        held = _loader(self._findings.held)
        alike = [run for run in self._runs if _loader_of(run) == held]
        last = alike[-1] if alike else next(iter(self._runs), None)
        starting = self.compiled_seconds if last is not None and self.is_compiled and not _compiles(last) else 0.0
        return starting + (self._baseline if last is None else self._again(last))

    def _again(self, record: TrialRecord) -> float:
        """What the same trial should take the next time, when what it compiled is on disk."""
        told = record.measurement
        if told is None or not _compiles(record):
            return record.seconds
        compiling = max(0.0, _start_seconds(told) - self.compiled_seconds)
        return max(record.seconds - compiling, min(record.seconds, self.compiled_seconds))

    @property
    def _runs(self) -> list[TrialRecord]:
        """End to end, at the user's batch. An arm of a pair that ran apart is none."""
        kind, size = ("feed" if self._goal.has_data else "speed"), self._findings.baseline.settings.batch_size
        log = (record for _, record in self._findings.log)
        told = (record for record in log if record.spec.kind == kind and record.spec.against is None)
        return [record for record in told if record.spec.settings.batch_size == size]


def _seconds_of(records: Sequence[TrialRecord]) -> float:
    return sum(record.seconds for record in records) + BETWEEN_TRIALS_SECONDS * len(records)


def _loader(setup: Setup) -> tuple[str, str, int]:
    return setup.data, setup.settings.decoder, setup.settings.num_workers


def _loader_of(record: TrialRecord) -> tuple[str, str, int]:
    return _loader(Setup(data=record.spec.workload.data, settings=record.spec.settings))


def _begins_with_steps(record: TrialRecord) -> bool:
    """Whether its start is that of a model, and neither of a loader nor of data that are read before."""
    if record.spec.kind == "pair":
        return record.spec.feed.supply == "resident"
    return record.spec.kind not in ("load", "probe", "losses")


def _start_seconds(told: Measurement) -> float:
    return told.start_up_seconds + told.first_step_seconds


def _compiles(record: TrialRecord) -> bool:
    arms = (record.spec.settings, record.spec.against)
    return any(each is not None and each.compile != "none" for each in arms)
