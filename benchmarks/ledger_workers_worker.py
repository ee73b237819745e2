"""A made-up worker of a shared study. What it does follows `app.shared_study`, by that study's own rules."""

import random
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger_workers_time import Call, Process, World
from store.samples import MACHINE, REQUEST, measured
from traindyno.app.attempt import LEASE_SECONDS
from traindyno.app.pulling import (
    ASKING_SECONDS,
    FEW,
    FIRST_LOOK_SECONDS,
    PLAN_SECONDS,
    ahead_of,
    is_time_to_plan,
    look_interval_seconds,
    low_mark,
    pause_seconds,
    plan,
    rest_seconds,
    stay_seconds,
)
from traindyno.app.shared_view import Looking, View
from traindyno.app.watching import RENEW_SECONDS
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.search.strategy import Proposal
from traindyno.store.ledger import Lease, Ledger, Running, StaleLeaseError, StudyRow, Taken

TRIAL_SECONDS = 300.0
SPREAD = 0.3
"""Standard deviation of the logarithm of a trial's time."""
DEATHS = 0.02
"""The share of workers that die in the middle of a trial, of those that begin one."""
BACK_SECONDS = 60.0
"""After so long another worker is there for one that died."""
REMEMBERED_TRIALS = 200_000
"""What all workers together remember of their looks, for want of memory: the others read all of it again."""
RENEWALS_MADE = 3
"""Every third renewal of a lease is made, which is in time; the others are only charged."""
ASK_SECONDS, FIRST_ASK_SECONDS_PER_TRIAL = 2e-3, 30e-6
"""What a round's strategy needs for each trial of a plan, and for the first by the length of the study.

Measured apart, see docs/thousands.md.
"""


class Listed:
    """A strategy that knows beforehand what it wants: so many trials, each with a seed of its own."""

    def __init__(self, trials: int) -> None:
        self._trials = trials

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        number = len(finished) + len(running)
        return None if number >= self._trials else Proposal(_spec_of(number), "it is next", self._trials)


def _spec_of(number: int) -> TrialSpec:
    """A trial like those of a tuning round."""
    workload = WorkloadSpec(model="mlp:64", data="digits:")
    return TrialSpec(kind="learn", workload=workload, settings=Settings(batch_size=64), seed=number)


@dataclass
class SharedRun:
    """The study that all workers share, and what came of their trials."""

    world: World
    ledger: Ledger
    row: StudyRow
    trials: int
    chance: random.Random
    kept: Counter[int] = field(default_factory=Counter)
    results: int = 0
    deaths: int = 0
    taken_again: int = 0
    renewals_refused: int = 0
    results_too_late: int = 0
    spans: list[tuple[float, float]] = field(default_factory=list)
    """From when till when somebody ran a trial."""
    last_start: float = 0.0
    """When the last trial was taken that nobody had taken before."""
    _lookings: OrderedDict[str, Looking] = field(default_factory=OrderedDict)

    @property
    def is_over(self) -> bool:
        return self.results >= self.trials

    def looking_of(self, worker: str) -> Looking:
        """What a worker has read once it need not read again."""
        looking = self._lookings.pop(worker, None) or Looking(self.ledger, self.row.id)
        self._lookings[worker] = looking
        if len(self._lookings) * self.trials > REMEMBERED_TRIALS:
            self._lookings.popitem(last=False)
        return looking


class Worker:
    """One process of a shared study, with what it knows of it."""

    def __init__(self, study: SharedRun, name: str) -> None:
        self._study, self._name = study, name
        self._running, self._most_running = Running(trials=0, here=0), 0
        self._count_seconds, self._counted_at = 0.0, -1e9
        self._look_seconds, self._looked_at = FIRST_LOOK_SECONDS, study.world.now
        self._idle_since: float | None = None
        self._renewed_at = study.world.now
        self._has_news = self._is_owner = self._planning_rests = False

    @property
    def _now(self) -> float:
        return self._study.world.now

    def live(self) -> Process[None]:
        """Join the study, and take a trial, or plan, or wait a moment, until it is over or this worker dies."""
        yield from self._join()
        is_alive = True
        while is_alive and not self._study.is_over:
            yield from self._stay_known()
            if self._running.trials > FEW and self._idle_since is None and self._is_due(self._look_seconds):
                yield from self._look()
            taken = yield from self._take()
            if taken is not None:
                is_alive = yield from self._run(taken)
            elif not (yield from self._plan()):
                yield self._pause_seconds()

    def _join(self) -> Process[None]:
        self._looked_at = self._renewed_at = self._now
        given = (self._study.row.name, "throughput", REQUEST, MACHINE, lambda _: REQUEST, self._name, LEASE_SECONDS)
        yield Call("join", lambda: self._study.ledger.take_part(*given))
        yield from self._count()

    def _take(self) -> Process[Taken | None]:
        """The next trial that waits; who leaves few of them plans further ones before it runs its own."""
        study, running = self._study, self._running.trials
        count_left = low_mark(running) + 1 if running > FEW else 0
        taken: Taken | None = yield Call(
            "take", lambda: study.ledger.lease_next(study.row.id, self._name, LEASE_SECONDS, count_left=count_left)
        )
        if taken is not None and is_time_to_plan(taken.left, running):
            yield from self._plan(is_ahead=True)
        return taken

    def _plan(self, is_ahead: bool = False) -> Process[bool]:
        """Plan if it is this one's turn; false when there is nothing to do now."""
        ledger, study_id, has_news = self._study.ledger, self._study.row.id, self._has_news
        turn = yield Call("turn", lambda: ledger.take_turn(study_id, self._name, PLAN_SECONDS, has_news=has_news))
        self._planning_rests = turn.rests
        if not turn.is_mine:
            return False
        self._has_news = False
        rest = yield from self._plan_in_turn(is_ahead)
        yield Call("turn", lambda: ledger.end_turn(study_id, self._name, rest))
        self._planning_rests = rest > 0
        return not rest

    def _plan_in_turn(self, is_ahead: bool) -> Process[float]:
        """Look, ask, and write what is to be run; where there is nothing, how long nobody else needs to."""
        study, view = self._study, (yield from self._look())
        if view.waiting and not is_ahead:
            return 0.0
        first_seconds = FIRST_ASK_SECONDS_PER_TRIAL * view.known_trials
        count = max(1, ahead_of(len(view.running)) - len(view.waiting))
        most = min(count, 1 + int(max(0.0, ASKING_SECONDS - first_seconds) / ASK_SECONDS))
        asked_for = [*view.running, *(each.spec for each in view.waiting)]
        specs = [each.spec for each in plan(Listed(study.trials), view.finished, asked_for, most)]
        if not specs:
            return rest_seconds(self._look_seconds)
        yield first_seconds + ASK_SECONDS * len(specs)
        yield Call("ask", lambda: study.ledger.enqueue_all_if(study.row.id, specs, view.known_trials))
        return 0.0

    def _run(self, taken: Taken) -> Process[bool]:
        """A trial to its end; false if that is the worker's, too."""
        study = self._study
        self._idle_since = None
        yield from self._count()
        start, seconds = self._now, study.chance.lognormvariate(0, SPREAD) * TRIAL_SECONDS
        dies = study.chance.random() < DEATHS
        self._note(taken, start)
        end = start + seconds * (study.chance.random() if dies else 1.0)
        is_ours = yield from self._renew_until(end, taken.lease)
        study.spans.append((start, self._now))
        if dies:
            study.deaths += 1
            study.world.start(Worker(study, f"{self._name}-{study.deaths}").live(), BACK_SECONDS)
            return False
        if is_ours:
            yield from self._keep(taken)
        return True

    def _note(self, taken: Taken, start: float) -> None:
        self._study.taken_again += taken.lease.fence > 1
        if taken.lease.fence == 1:
            self._study.last_start = start

    def _renew_until(self, end: float, lease: Lease) -> Process[bool]:
        """Whether nobody has taken the trial from us meanwhile, as far as we have heard."""
        number, moment = 1, self._now + RENEW_SECONDS
        while moment < end:
            yield moment - self._now
            moment = self._now + RENEW_SECONDS
            yield from self._stay_known()
            work = None if number % RENEWALS_MADE else lambda: self._study.ledger.renew(lease, LEASE_SECONDS)
            if (yield Call("renew", work)) is False:
                self._study.renewals_refused += 1
                return False
            number += 1
        yield end - self._now
        return True

    def _keep(self, taken: Taken) -> Process[None]:
        study = self._study
        yield from self._count()
        if (yield Call("keep", lambda: self._is_kept(taken))):
            study.kept[taken.lease.trial_id] += 1
            study.results += 1
        else:
            study.results_too_late += 1
        if self._running.trials <= FEW:
            self._has_news = True
            yield from self._look()

    def _is_kept(self, taken: Taken) -> bool:
        try:
            self._study.ledger.commit(taken.lease, measured(taken.spec))
        except StaleLeaseError:
            return False
        return True

    def _look(self) -> Process[View]:
        """All of the study, with what it takes to read it for the first time."""
        began = self._now
        view: View = yield Call("look", self._study.looking_of(self._name).look)
        self._looked_at = self._counted_at = self._now
        self._look_seconds = self._now - began
        self._see_running(Running(trials=len(view.running), here=0))
        return view

    def _count(self) -> Process[None]:
        study, began = self._study, self._now
        if began - self._counted_at < look_interval_seconds(self._count_seconds, self._running.trials):
            return
        self._see_running((yield Call("count", lambda: study.ledger.running(study.row.id, FEW))))
        self._count_seconds, self._counted_at = self._now - began, self._now

    def _see_running(self, running: Running) -> None:
        self._running, self._most_running = running, max(self._most_running, running.trials)

    def _is_due(self, look_seconds: float) -> bool:
        return self._now - self._looked_at > look_interval_seconds(look_seconds, self._running.trials)

    def _pause_seconds(self) -> float:
        self._idle_since = self._now if self._idle_since is None else self._idle_since
        idle_seconds = self._now - self._idle_since
        return pause_seconds(idle_seconds, self._most_running, self._planning_rests, self._study.chance.random)

    def _stay_known(self) -> Process[None]:
        study = self._study
        if self._now - self._renewed_at < stay_seconds(self._is_owner):
            return
        held = yield Call("stay", lambda: study.ledger.join_study(study.row.name, self._name, LEASE_SECONDS))
        self._renewed_at, self._is_owner = self._now, held.owner == self._name
