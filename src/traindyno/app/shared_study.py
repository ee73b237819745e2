"""Driving a study that several processes run together: each takes what waits, and plans for all when it is its turn."""

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from traindyno.app.attempt import LEASE_SECONDS
from traindyno.app.pulling import (
    ASKING_SECONDS,
    FEW,
    PLAN_SECONDS,
    ahead_of,
    is_time_to_plan,
    low_mark,
    plan,
    rest_seconds,
)
from traindyno.app.shared_waiting import SharedWaiting
from traindyno.core.errors import TraindynoError
from traindyno.core.records import TrialSpec
from traindyno.runner.protocol import NowhereToRunError
from traindyno.search.strategy import Proposal, SharedStrategy
from traindyno.store.ledger import Lease, StoreAwayError, StudyState, Taken

TAKEN_OVER = "nobody runs it any more"
PLANNED = "planned by another process"


class SharedStudy(SharedWaiting):
    """A study that this process runs beside others, from trial to trial. `is_concluded` if another wrote its answer."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._asked: dict[str, Proposal] = {}
        self._expected = 0
        self._failed_before = self.row.state == "failed"
        self._is_over = self.is_concluded = False

    def drive(self, strategy: SharedStrategy) -> None:
        """Run what waits and what the strategy asks for, until there is nothing to start and nobody runs anything."""
        while not self._is_over and not self._stopped():
            with suppress(StoreAwayError):  # whatever comes next waits for it
                self._stay_known()
            self._heed(self._heard)
            try:
                self._step(strategy)
            except NowhereToRunError as error:
                self._leave_to_others(error)
        self._has_ended = True

    def _step(self, strategy: SharedStrategy) -> None:
        """One trial, or a plan for more of them, or a moment's wait."""
        if self._nowhere_since is not None:
            self._find_machine()
        if self._idle_since is None and self._sight.look_is_due():
            self._look()
        self._check_ending()
        if self._sight.is_fresh and self._sight.view.waiting:
            self._take_over(strategy)
        elif (self._sight.is_fresh or not self._pull(strategy)) and not self._plan(strategy):
            self._wait()

    def _heed(self, state: StudyState) -> None:
        """Others may have concluded the study, or ended it by an error since this process came."""
        if state == "failed" and not self._failed_before:
            if self._sight.are_few:
                self._look()
                self._check_ending()
            raise self._failed_elsewhere()
        self._failed_before = self._failed_before and state == "failed"
        self._is_over = self.is_concluded = state == "done"

    def _failed_elsewhere(self) -> TraindynoError:
        answer = self.workshop.ledger.study(self.row.name).answer
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        message = f"another process has ended the study: {error.get('message', 'it failed')}"
        return TraindynoError(message, error.get("hint") or f"see `traindyno show {self.row.name}{self.store_option}`")

    def _take_over(self, strategy: SharedStrategy) -> None:
        """Run a trial that nobody runs. Its run may go on where that of another process was."""
        waiting, looking = self._sight.view.waiting, self._sight.looking
        trial = waiting[0] if self._sight.are_few else random.choice(waiting)
        self._find_machine()
        goes_on = looking.comes_again(trial)
        lease = self.workshop.ledger.lease(trial.id, self._owner, LEASE_SECONDS, goes_on=goes_on)
        if lease is None:
            self._sight.is_fresh = False
            return
        self._expected = self._expected or self._expected_by(strategy)
        self._begin(lease, trial.spec, trial.ordinal)

    def _expected_by(self, strategy: SharedStrategy) -> int:
        view = self._sight.view
        further = strategy.ask(view.finished, (*view.running, *(each.spec for each in view.waiting)))
        return view.known_trials if further is None else further.expected_trials

    def _pull(self, strategy: SharedStrategy) -> bool:
        """Run the next trial that waits, if one does; where many run, who leaves few of them plans further ones."""
        running = self._sight.running.trials
        count_left = low_mark(running) + 1 if running > FEW else 0
        taken = self.workshop.ledger.lease_next(self.row.id, self._owner, LEASE_SECONDS, count_left=count_left)
        if taken is None:
            return False
        self._sight.note(taken)
        try:
            self._prepare(taken, strategy)
        except BaseException:
            self.workshop.ledger.release(taken.lease)
            raise
        self._begin(taken.lease, taken.spec, taken.ordinal)
        return True

    def _prepare(self, taken: Taken, strategy: SharedStrategy) -> None:
        """What is to be done with a trial in hand and before its run: plan for others, or see what others have done."""
        self._find_machine()
        if is_time_to_plan(taken.left, self._sight.running.trials):
            self._plan(strategy, is_ahead=True)
        elif self._sight.are_few and taken.spec.key not in self._asked:
            self._look()
            self._expected = self._expected or self._expected_by(strategy)

    def _begin(self, lease: Lease, spec: TrialSpec, ordinal: int) -> None:
        """Run what was leased. Why it was asked for, only who planned it knows."""
        self._end_waiting()
        reason = TAKEN_OVER if lease.fence > 1 else PLANNED
        unknown = Proposal(spec=spec, reason=reason, expected_trials=self._expected)
        self._run(lease, self._asked.pop(spec.key, unknown), ordinal)

    def _plan(self, strategy: SharedStrategy, is_ahead: bool = False) -> bool:
        """Ask for what all run next, if it is our turn; false when there is nothing to do now."""
        ledger, rest = self.workshop.ledger, 0.0
        turn = ledger.take_turn(self.row.id, self._owner, PLAN_SECONDS, has_news=self._has_news)
        self._planning_rests = turn.rests
        if not turn.is_mine:
            self._heed(turn.state)
            return self._is_over
        self._has_news = False
        try:
            self._heed(turn.state)
            rest = 0.0 if self._is_over else self._plan_in_turn(strategy, is_ahead)
        finally:
            ledger.end_turn(self.row.id, self._owner, rest)
        self._planning_rests = rest > 0
        return not rest

    def _plan_in_turn(self, strategy: SharedStrategy, is_ahead: bool) -> float:
        """Look, ask, and write what is to be run; where there is nothing, how long nobody else needs to."""
        if not self._sight.is_fresh:
            self._look()
        self._check_ending()
        view = self._sight.view
        if view.waiting and not is_ahead:
            return 0.0
        proposals = self._proposals(strategy)
        if proposals:
            self._enqueue(proposals)
            return 0.0
        self._is_over = not view.running and not view.waiting
        return 0.0 if self._is_over else rest_seconds(self._sight.look_seconds)

    def _proposals(self, strategy: SharedStrategy) -> list[Proposal]:
        """As many as are to wait beside what runs, less those that do; each asked for as if all before it ran."""
        view, until = self._sight.view, time.monotonic() + ASKING_SECONDS
        asked_for = [*view.running, *(each.spec for each in view.waiting)]
        count = max(1, ahead_of(len(view.running)) - len(view.waiting))
        return plan(strategy, view.finished, asked_for, count, lambda: time.monotonic() > until)

    def _enqueue(self, proposals: Sequence[Proposal]) -> None:
        """Write what was planned, unless the study has grown since we looked."""
        self._find_machine()
        self._check_request()
        specs, known = [each.spec for each in proposals], self._sight.view.known_trials
        if self.workshop.ledger.enqueue_all_if(self.row.id, specs, known):
            self._asked = {each.spec.key: each for each in proposals}
            self._expected = proposals[-1].expected_trials
        self._sight.is_fresh = False

    def _check_request(self) -> None:
        """Who waited for others has no hold on the study: when they were gone, somebody may have changed it."""
        if self.workshop.ledger.study(self.row.name).request != self.row.request:
            raise TraindynoError(
                f"the study {self.row.name!r} is asked something else since this process joined it",
                "type the command again to take part in what it is now",
            )
