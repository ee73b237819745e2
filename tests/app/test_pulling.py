"""How processes of a shared study plan for each other, and how seldom they look at all of it when they are many."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from store.samples import measured, spec_of
from traindyno.app import pulling
from traindyno.app.context import Context
from traindyno.app.pulling import (
    FEW,
    LONGEST_PAUSE_SECONDS,
    LOOK_SHARE,
    ahead_of,
    is_time_to_plan,
    look_interval_seconds,
    low_mark,
    pause_seconds,
    plan,
    rest_seconds,
)
from traindyno.app.rounds.requests import request_of
from traindyno.app.rounds.run import driving, help_round
from traindyno.app.shared_study import SharedStudy
from traindyno.app.shared_view import Looking
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Event, TrialFinished, TrialStarted
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round
from traindyno.search.strategy import Proposal, SharedStrategy
from traindyno.store.ledger import Ledger

OTHERS = 60
ROUND = """
name = "rates"
[goal]
kind = "initial"
[job]
model = "mlp:64"
data = "digits:"
batch_size = 64
epochs = 10
schedule = "constant"
[budget]
trials = 90
[nuisance.learning_rate]
low = 0.01
high = 1.0
scale = "log"
"""


class Counting:
    """A strategy that asks for one size after the other, and tells how far ahead of results it was asked."""

    def __init__(self, trials: int) -> None:
        self._trials, self.told = trials, list[int]()

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        self.told.append(len(running))
        size = len(finished) + len(running) + 1
        return None if size > self._trials else Proposal(spec_of(size), "it is next", self._trials)


def test_a_process_alone_and_a_few_plan_one_trial_and_only_when_none_waits() -> None:
    assert [ahead_of(running) for running in (0, 1, FEW)] == [1, 1, 1]
    assert not any(is_time_to_plan(left, running) for running in range(FEW + 1) for left in range(3))


def test_a_tenth_of_many_is_planned_ahead() -> None:
    assert ahead_of(10_000) == 1000
    assert low_mark(10_000) == 500


def test_between_the_low_mark_and_nothing_only_a_few_takers_plan_and_the_last_one_does() -> None:
    planners = [left for left in range(1000, -1, -1) if is_time_to_plan(left, 10_000)]
    assert planners == [500, 250, 125, 62, 31, 15, 7, 3, 1, 0]


def test_every_trial_is_asked_for_as_if_those_planned_before_it_ran() -> None:
    strategy = Counting(5)
    proposals = plan(strategy, [measured(spec_of(1))], [spec_of(2)], 10)
    assert [each.spec for each in proposals] == [spec_of(size) for size in (3, 4, 5)]
    assert strategy.told == [1, 2, 3, 4]


def test_a_planner_that_has_no_time_left_has_one_trial_at_least() -> None:
    assert len(plan(Counting(5), [], [], 3, lambda: True)) == 1


@pytest.mark.parametrize("running", [FEW + 1, 1000, 10_000])
def test_the_looks_of_all_together_take_their_share_of_the_store(running: int) -> None:
    look_seconds = 0.2
    assert running * look_seconds / look_interval_seconds(look_seconds, running) == pytest.approx(LOOK_SHARE)


def test_few_look_whenever_they_like() -> None:
    assert look_interval_seconds(5.0, FEW) == 0.0


def test_who_waits_longer_asks_less_often_and_not_at_the_same_moments_as_others() -> None:
    assert pause_seconds(0.0, FEW, False) < 0.1
    assert pause_seconds(20.0, FEW, False, lambda: 0.5) == pytest.approx(2.0)
    assert pause_seconds(20.0, FEW + 1, False, lambda: 0.5) == pytest.approx(10.0)
    assert pause_seconds(1e6, FEW, False, lambda: 0.5) == LONGEST_PAUSE_SECONDS
    assert pause_seconds(1e6, 10_000, False, lambda: 0.5) == pytest.approx(200.0)
    assert pause_seconds(100.0, FEW, False, lambda: 0.0) < pause_seconds(100.0, FEW, False, lambda: 0.9)


def test_many_who_hear_that_planning_rests_ask_fifty_times_a_second_from_the_first_pause_on() -> None:
    assert pause_seconds(0.0, 10_000, True, lambda: 0.5) == pytest.approx(200.0)
    assert pause_seconds(0.0, 10_000, False, lambda: 0.5) == pytest.approx(1.0)
    assert pause_seconds(0.0, FEW + 1, True, lambda: 0.5) == pytest.approx(1.0)
    assert pause_seconds(20.0, FEW + 1, True, lambda: 0.5) == pytest.approx(10.0)


def test_few_do_not_wait_longer_where_planning_rests() -> None:
    assert pause_seconds(0.0, FEW, True, lambda: 0.5) == pause_seconds(0.0, FEW, False, lambda: 0.5)


def test_after_a_long_look_without_anything_to_plan_nobody_looks_again_at_once() -> None:
    assert rest_seconds(0.001) == 1.0
    assert rest_seconds(0.5) == pytest.approx(0.5 / LOOK_SHARE)


def asked() -> RoundRequest:
    return request_of(parse_round(ROUND, "rates.toml"), Bench(device="simulated", runner="simulated"))


def occupied(ledger: Ledger, strategy: SharedStrategy, waiting: int = 3) -> None:
    """Others plan as they would, and have so many trials in their hands that a newcomer is one of many."""
    study = ledger.study("rates")
    proposals = plan(strategy, (), (), OTHERS + waiting)
    assert ledger.enqueue_all_if(study.id, [each.spec for each in proposals], known_trials=0)
    for number in range(OTHERS):
        assert ledger.lease_next(study.id, f"far-away-{number}", 3600) is not None


def test_one_of_many_takes_what_waits_plans_ahead_and_hardly_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, heard = str(tmp_path / "traindyno.db"), list[Event]()
    looks = 0
    look = Looking.look

    def counted(looking: Looking) -> object:
        nonlocal looks
        looks += 1
        return look(looking)

    def has_six() -> bool:
        return sum(isinstance(event, TrialFinished) for event in heard) >= 6

    with driving(asked(), Context(store=store)) as (first, strategy):
        occupied(first.workshop.ledger, strategy)
        with driving(asked(), Context(store=store, emit=heard.append, should_stop=has_six)) as (study, own):
            monkeypatch.setattr(Looking, "look", counted)
            study.drive(own)
            monkeypatch.undo()
            queue = first.workshop.ledger.queue(study.row.id)
    started = [event for event in heard if isinstance(event, TrialStarted)]
    assert len(started) == 6
    assert [trial.ordinal for trial in queue if trial.outcome is not None] == list(range(OTHERS + 1, OTHERS + 7))
    assert 1 <= sum(trial.outcome is None and not trial.in_hands for trial in queue) <= ahead_of(OTHERS + 1)
    assert looks < 6


class Nothing:
    """A strategy that waits for what runs."""

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        return None


def first_pause(study: SharedStudy, monkeypatch: pytest.MonkeyPatch) -> float:
    """How long a process that finds nothing to do waits before it asks again."""
    pauses = list[float]()

    def pause(_: SharedStudy, seconds: float) -> None:
        pauses.append(seconds)
        monkeypatch.setattr(study, "_is_over", True)

    monkeypatch.setattr(SharedStudy, "_pause", pause)
    study.drive(Nothing())
    return pauses[0]


@pytest.mark.parametrize(
    ("who_plans", "shortest", "longest"),
    [("nobody", 75.0, 125.0), ("it rests", 75.0, 125.0), ("another", 0.75, 1.25)],
)
def test_one_of_many_waits_long_at_once_unless_another_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who_plans: str, shortest: float, longest: float
) -> None:
    store = str(tmp_path / "traindyno.db")
    monkeypatch.setattr(pulling, "PAUSE_SECONDS_EACH", 100 / OTHERS)
    with driving(asked(), Context(store=store)) as (first, strategy):
        ledger, study_id = first.workshop.ledger, first.row.id
        occupied(ledger, strategy, waiting=0)
        if who_plans != "nobody":
            ledger.take_turn(study_id, "far-away-0", 600)
        if who_plans == "it rests":
            ledger.end_turn(study_id, "far-away-0", 600)
        with driving(asked(), Context(store=store)) as (study, _):
            assert shortest <= first_pause(study, monkeypatch) <= longest


def test_one_of_many_stops_when_another_has_ended_the_study_by_an_error(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    with driving(asked(), Context(store=store)) as (first, strategy):
        ledger = first.workshop.ledger
        occupied(ledger, strategy)
        with driving(asked(), Context(store=store)) as (study, own):
            ledger.finish("rates", "failed", {"error": {"message": "no such width", "hint": "mend it"}})
            with pytest.raises(TraindynoError, match="another process has ended the study: no such width") as error:
                study.drive(own)
    assert error.value.hint == "mend it"


def test_who_helps_in_a_round_that_another_has_concluded_reads_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "traindyno.db")
    with driving(asked(), Context(store=store)):
        pass
    with Ledger.open(store) as ledger:
        assert ledger.join_study("rates", "far-away", 3600).owner == "far-away"
        ledger.finish("rates", "done", {"told": "by another"})
        monkeypatch.setattr(Looking, "look", None)
        help_round(asked(), Context(store=store))
        assert ledger.study("rates").answer == {"told": "by another"}
