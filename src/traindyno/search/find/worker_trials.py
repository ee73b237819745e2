"""How many workers: a few counts end to end for one source and decoder, the fewest that suffice in the end."""

from traindyno.analysis.find.attempts import (
    FAR_FASTER,
    UNCOMPARED,
    fewer_suffice,
    not_tried,
    out_of_time,
    tried_end_to_end,
    uncompared,
)
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import (
    estimates_of,
    forecast_seconds,
    like_but_workers,
    parts_of,
    supplier_of,
)
from traindyno.analysis.find.words import changes_in_words
from traindyno.analysis.loader_budget import refuse_loader, with_data
from traindyno.analysis.worker_choice import NextCount, choose_count, fewest_workers, next_count, worker_counts
from traindyno.core.records import TrialRecord
from traindyno.core.settings_file import SYNTHETIC
from traindyno.core.setups import Setup
from traindyno.core.units import count_of
from traindyno.search.find.giving_up import step_back
from traindyno.search.find.goal import Goal
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.trials import changed
from traindyno.search.replaying import Trying, Wanted

MOST_TRIALS = 4
"""Of worker counts, for one supplier."""

WORTH_ADOPTING = 1.01
OTHER_NUMBERS = "other numbers of "


def allowed_counts(goal: Goal, findings: Findings, setup: Setup) -> tuple[int, ...]:
    """The worker counts that data, memory and open files allow and that have not failed."""
    parts = parts_of(findings, setup)
    room = with_data(goal.room, findings.probes.get(supplier_of(setup)))
    broken = {
        other.settings.num_workers
        for other, records in findings.feeds.items()
        if supplier_of(other) == supplier_of(setup) and all(record.measurement is None for record in records)
    }
    counts = _counts(goal, setup) if goal.may_change("num_workers") else (own_workers(goal),)
    most = findings.most_workers(setup.data)
    batch_bytes = None if parts is None else parts.batch_bytes
    return tuple(
        count
        for count in counts
        if count not in broken
        and (most is None or count <= most)
        and refuse_loader(changed(setup, {"num_workers": count}).settings, batch_bytes, room) is None
    )


def _counts(goal: Goal, setup: Setup) -> tuple[int, ...]:
    fewest = fewest_workers(setup.settings.decoder)
    return tuple(count for count in worker_counts(goal.usable_cpus) if count >= fewest)


def own_workers(goal: Goal) -> int:
    return goal.baseline.settings.num_workers


def workers_for(setup: Setup) -> str:
    """Data of the user's own code has no name, and may not be decoded."""
    return "workers" if setup.data == SYNTHETIC else f"workers for {setup.data}, decoded by {setup.settings.decoder}"


class WorkerTrials:
    """Improves what is held by its worker count."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse
        self.ran_short = False
        """Whether there was no time for a run end to end, so that what is held is what training will be fed by."""
        self.kept_seconds = 0.0
        """What runs end to end must leave for something else, beside the last rounds."""

    def run(self, setup: Setup, most: int = MOST_TRIALS, faster: float = 1.0) -> Trying[None]:
        """A few counts end to end; on a GPU the loader may be tried alone first, which tells the most of all counts.

        They are chosen for a step that takes a share of what it takes, where it is about to become `faster`.
        """
        left, load_first = most, self._goal.on_gpu and not self._findings.loads.get(supplier_of(setup))
        while left > 0 and not self._findings.goes_on_failing(supplier_of(setup)) and not self._is_stuck(setup):
            if (following := self._following(setup, left, load_first, faster)) is None:
                break
            tried, alone = changed(setup, {"num_workers": following.num_workers}), following.how == "load"
            first = tried if alone or self._is_comparable(tried) else self._findings.held
            seconds = forecast_seconds(self._findings, first)
            if not self._purse.affords_feed(first, seconds, self.kept_seconds):
                others = "" if left == most else OTHER_NUMBERS
                self._findings.note_untried(out_of_time("data", f"{others}{workers_for(setup)}"))
                self.ran_short = not self._purse.affords_feed(first, seconds)
                break
            left -= first == tried
            if first != tried:
                yield from self._feed(first, "what the others are compared with")
            elif alone:
                load_first = False
                yield from self._load(tried)
            else:
                yield from self._feed(tried, following.reason)
            if self._steps_back():
                return
        self._hold_fewest()

    def run_held(self) -> Trying[None]:
        """What is held, once, where that can be paid for."""
        held = self._findings.held
        if self._purse.affords_feed(held, forecast_seconds(self._findings, held)):
            yield from self._feed(held, "what is held, as it would train")
            self._steps_back()

    def _steps_back(self) -> bool:
        """Whether a step that ran by itself has failed end to end, and is no longer held."""
        return self._findings.step_goes_on_failing(self._findings.held.settings) and step_back(self._findings)

    def _following(self, setup: Setup, left: int, load_first: bool, faster: float) -> NextCount | None:
        """The next count by the estimates; where nothing can be estimated, half the CPUs and then all of them."""
        counts = allowed_counts(self._goal, self._findings, setup)
        estimates = estimates_of(self._findings, setup, counts, faster)
        tried = {other.settings.num_workers for other in like_but_workers(self._findings, setup)}
        if estimates is not None:
            following = next_count(estimates, left, load_first)
            # Of a step that is about to change, runs do not count as measured.
            is_over = faster != 1.0 and following is not None and following.num_workers in tried
            return None if is_over else following
        whole = max(1, int(self._goal.usable_cpus))
        blind = [count for count in (max(1, whole // 2), whole) if count in counts and count not in tried]
        return NextCount(num_workers=blind[0], how="goal", reason="its parts are not known") if blind else None

    def _is_stuck(self, setup: Setup) -> bool:
        """Whether the two fastest counts are equally fast: something else than workers is short."""
        rates = [self._findings.rate(other) for other in like_but_workers(self._findings, setup)]
        known = sorted((rate.examples_per_second for rate in rates if rate is not None), reverse=True)
        return len(known) > 1 and known[0] < WORTH_ADOPTING * known[1]

    def _is_comparable(self, setup: Setup) -> bool:
        """What another way to train is compared with must have run with the step as it is now, or be far slower.

        How far is foretold, unless a run of the like has shown that this cannot be relied on.
        """
        findings = self._findings
        if setup == findings.held or findings.held in findings.feeds:
            return True
        if any(supplier_of(other) == supplier_of(setup) for other in uncompared(findings)):
            return False
        now, then = forecast_seconds(findings, findings.held), forecast_seconds(findings, setup)
        return now is not None and then is not None and now >= FAR_FASTER * then

    def _hold_fewest(self) -> None:
        """Of the counts that ran with all else as it is held, the fewest within the interval of the best."""
        findings, held = self._findings, self._findings.held
        rates = {
            setup: rate for setup in like_but_workers(findings, held) if (rate := findings.rate(setup)) is not None
        }
        if held not in rates:
            return
        by_count = {setup.settings.num_workers: setup for setup in rates}
        told = [(each.settings.num_workers, rate.examples_per_second, rate.interval) for each, rate in rates.items()]
        fewest = by_count[choose_count(told)]
        if fewest.settings.num_workers < held.settings.num_workers:
            fewer_suffice(findings, fewest)
            findings.held = fewest

    def _load(self, setup: Setup) -> Trying[None]:
        reason = f"the loader alone with {setup.settings.num_workers} workers"
        record = yield Wanted(spec=self._trials.loader_alone(setup), reason=reason)
        if record.measurement is not None:
            self._findings.loads.setdefault(supplier_of(setup), []).append(record)
        self._note_limit(setup)

    def _feed(self, setup: Setup, why: str) -> Trying[None]:
        """Hold what is faster than what is held."""
        findings = self._findings
        repeat = len(findings.feeds.get(setup, ()))
        reason = f"{setup.settings.num_workers} workers, {setup.settings.decoder}, {setup.data}: {why}"
        record = yield Wanted(spec=self._trials.end_to_end(setup, repeat), reason=reason)
        findings.note_feed(setup, record)
        if setup == findings.held and record.measurement is not None:
            self._judge_uncompared()
        else:
            self._judge(setup, record)
        self._note_limit(setup)

    def _note_limit(self, setup: Setup) -> None:
        """Say once that more workers are not tried, where a trial was refused for having them."""
        if (most := self._findings.most_workers(setup.data)) is not None:
            change = f"more than {count_of(most, 'worker')}"
            self._findings.note_untried(not_tried("data", change, "they do not share the data out"))

    def _judge(self, setup: Setup, record: TrialRecord) -> None:
        """Write down what a run says; what was said of its supplier while it had not run no longer counts."""
        held = self._findings.held
        as_held = changed(setup, {"num_workers": held.settings.num_workers})
        self._findings.forget_untried(changes_in_words(as_held.changes(held)))
        attempt = tried_end_to_end(self._findings, setup, record, WORTH_ADOPTING)
        self._findings.attempts.append(attempt)
        if attempt.adopted:
            self._findings.held = setup

    def _judge_uncompared(self) -> None:
        """Now that what is held has run, the runs before it can be compared."""
        waiting = uncompared(self._findings)
        self._findings.attempts = [each for each in self._findings.attempts if each.outcome != UNCOMPARED]
        for setup in waiting:
            self._judge(setup, self._findings.feeds[setup][-1])
