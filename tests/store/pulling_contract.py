"""What every ledger promises of studies whose processes take the next trial that waits, and plan in turns."""

import threading

import pytest

from store.open_ledger import OpenLedger
from store.samples import MACHINE, REQUEST, FakeClock, failed, measured, spec_of
from traindyno.core.outcomes import Outcome
from traindyno.store.ledger import Ledger, StaleLeaseError, StudyRow, owner_here

ELSEWHERE = "gpu-box/4026531836/another-machine:{}:1.00"


class PullingContract(OpenLedger):
    """Owners here are plain names, taken for runners on other hosts: they live until their lease expires."""

    @pytest.fixture
    def study(self, ledger: Ledger) -> StudyRow:
        return ledger.create_study("shared", "throughput", REQUEST, MACHINE)

    def plan(self, ledger: Ledger, study: StudyRow, count: int) -> None:
        assert ledger.enqueue_all_if(study.id, [spec_of(size) for size in range(1, count + 1)], known_trials=0)

    def taken(self, ledger: Ledger, study: StudyRow, owner: str = "alice", seconds: float = 60) -> int | None:
        taken = ledger.lease_next(study.id, owner, seconds)
        return None if taken is None else taken.ordinal

    # Taking

    def test_the_first_that_waits_is_taken_and_no_other_gets_it(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 2)
        first = ledger.lease_next(study.id, "alice", 60)
        assert first is not None
        assert (first.ordinal, first.spec, first.lease.owner, first.lease.fence) == (1, spec_of(1), "alice", 1)
        assert self.taken(ledger, study, "bob") == 2
        assert self.taken(ledger, study, "carol") is None

    def test_who_asks_how_many_still_wait_is_told_up_to_a_bound(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 6)
        told = [ledger.lease_next(study.id, "alice", 60, count_left=most) for most in (0, 3, 10)]
        assert [None if each is None else each.left for each in told] == [0, 3, 3]

    def test_a_result_is_kept_under_the_lease_that_was_taken(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 1)
        taken = ledger.lease_next(study.id, "alice", 60)
        assert taken is not None
        assert ledger.renew(taken.lease, 60)
        ledger.commit(taken.lease, measured(taken.spec))
        assert ledger.trials(study.id) == [measured(spec_of(1))]
        assert self.taken(ledger, study) is None

    def test_an_expired_trial_comes_before_new_ones_and_its_late_result_is_refused(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        self.plan(ledger, study, 3)
        lost = ledger.lease_next(study.id, "alice", 60)
        assert lost is not None
        assert self.taken(ledger, study, "bob", seconds=600) == 2
        clock.seconds += 61
        again = ledger.lease_next(study.id, "carol", 60)
        assert again is not None
        assert (again.ordinal, again.lease.fence) == (1, 2)
        with pytest.raises(StaleLeaseError):
            ledger.commit(lost.lease, measured(lost.spec))
        assert self.taken(ledger, study, "carol") == 3

    def test_a_trial_that_was_given_back_waits_again(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 1)
        taken = ledger.lease_next(study.id, "alice", 60)
        assert taken is not None
        ledger.release(taken.lease)
        assert self.taken(ledger, study, "bob") == 1

    def test_a_result_that_may_come_again_is_left_to_who_sees_the_whole_study(
        self, ledger: Ledger, study: StudyRow
    ) -> None:
        self.plan(ledger, study, 1)
        taken = ledger.lease_next(study.id, "alice", 60)
        assert taken is not None
        ledger.commit(taken.lease, failed(taken.spec, Outcome.KILLED))
        assert self.taken(ledger, study) is None
        assert ledger.lease(taken.lease.trial_id, "bob", 60) is not None

    def test_trials_of_other_studies_are_not_taken(self, ledger: Ledger, study: StudyRow) -> None:
        other = ledger.create_study("other", "throughput", REQUEST, None)
        self.plan(ledger, other, 1)
        assert self.taken(ledger, study) is None

    def test_of_many_who_take_at_once_each_gets_another_trial(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock, store: str
    ) -> None:
        self.plan(ledger, study, 60)
        got: dict[str, list[int]] = {owner: [] for owner in ("alice", "bob", "carol", "dave")}
        start = threading.Barrier(len(got))

        def take(owner: str) -> None:
            with Ledger.open(store, clock=clock) as own:
                start.wait()
                while (ordinal := self.taken(own, study, owner)) is not None:
                    got[owner].append(ordinal)

        threads = [threading.Thread(target=take, args=(owner,)) for owner in got]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(ordinal for ordinals in got.values() for ordinal in ordinals) == list(range(1, 61))

    # Planning in turns

    def test_one_plans_at_a_time_and_the_next_when_it_has_planned(self, ledger: Ledger, study: StudyRow) -> None:
        assert ledger.take_turn(study.id, "alice", 30).is_mine
        assert not ledger.take_turn(study.id, "bob", 30).is_mine
        assert not ledger.take_turn(study.id, "bob", 30, has_news=True).is_mine
        assert ledger.take_turn(study.id, "alice", 30).is_mine
        self.plan(ledger, study, 2)
        assert ledger.take_turn(study.id, "bob", 30).is_mine

    def test_a_turn_is_over_when_who_has_it_stays_away(self, ledger: Ledger, study: StudyRow, clock: FakeClock) -> None:
        ledger.take_turn(study.id, "alice", 30)
        clock.seconds += 31
        assert ledger.take_turn(study.id, "bob", 30).is_mine
        ledger.end_turn(study.id, "alice", 600)
        assert not ledger.take_turn(study.id, "alice", 30).is_mine

    def test_where_there_was_nothing_to_plan_only_who_has_news_plans_again(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.take_turn(study.id, "alice", 30)
        ledger.end_turn(study.id, "alice", 10)
        assert not ledger.take_turn(study.id, "alice", 30).is_mine
        assert ledger.take_turn(study.id, "bob", 30, has_news=True).is_mine
        ledger.end_turn(study.id, "bob", 10)
        clock.seconds += 11
        assert ledger.take_turn(study.id, "carol", 30).is_mine

    def test_planning_rests_after_there_was_nothing_to_plan_and_not_while_another_plans(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        assert not ledger.take_turn(study.id, "alice", 30).rests
        assert not ledger.take_turn(study.id, "bob", 30).rests
        ledger.end_turn(study.id, "alice", 10)
        assert ledger.take_turn(study.id, "bob", 30).rests
        ledger.take_turn(study.id, "carol", 30, has_news=True)
        assert not ledger.take_turn(study.id, "bob", 30).rests
        ledger.end_turn(study.id, "carol", 10)
        clock.seconds += 11
        assert not ledger.take_turn(study.id, "bob", 30).rests

    def test_who_asks_for_a_turn_hears_how_the_study_stands(self, ledger: Ledger, study: StudyRow) -> None:
        assert ledger.take_turn(study.id, "alice", 30).state == "running"
        ledger.finish("shared", "done", None)
        assert ledger.take_turn(study.id, "bob", 30).state == "done"

    # Counting

    @pytest.mark.parametrize("one_by_one", [0, 8])
    def test_those_that_run_are_counted_here_and_elsewhere(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock, one_by_one: int
    ) -> None:
        self.plan(ledger, study, 6)
        self.taken(ledger, study, ELSEWHERE.format(7), seconds=30)
        clock.seconds += 31
        for owner in (ELSEWHERE.format(7), ELSEWHERE.format(8), owner_here()):
            self.taken(ledger, study, owner)
        running = ledger.running(study.id, one_by_one)
        assert (running.trials, running.here) == (3, 1)

    # Keeping a study

    def test_who_is_not_the_owner_writes_nothing_to_stay_in_a_study(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.join_study("shared", "alice", 60)
        clock.seconds += 30
        ledger.join_study("shared", "bob", 600)
        clock.seconds += 31
        assert ledger.join_study("shared", "bob", 60).owner == "bob"

    def test_a_study_that_failed_stays_failed_for_who_was_in_it_and_runs_for_who_begins_anew(
        self, ledger: Ledger, study: StudyRow
    ) -> None:
        ledger.join_study("shared", "alice", 60)
        ledger.finish("shared", "failed", {"error": {}})
        ledger.release_study("shared", "alice")
        assert ledger.join_study("shared", "bob", 60).state == "failed"
        ledger.release_study("shared", "bob")
        ledger.take_part("shared", "throughput", REQUEST, MACHINE, lambda _: REQUEST, "carol", 60)
        assert ledger.study("shared").state == "running"

    # Reading

    def test_a_spec_that_is_known_is_not_read_again(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 2)
        known = {trial.id: spec_of(100 + trial.ordinal) for trial in ledger.queue(study.id)}
        assert ledger.enqueue_all_if(study.id, [spec_of(3)], known_trials=2)
        assert [trial.spec for trial in ledger.queue(study.id, known)] == [spec_of(101), spec_of(102), spec_of(3)]

    def test_more_results_than_one_statement_names_are_read_at_once(self, ledger: Ledger, study: StudyRow) -> None:
        self.plan(ledger, study, 2)
        taken = ledger.lease_next(study.id, "alice", 60)
        assert taken is not None
        ledger.commit(taken.lease, measured(taken.spec))
        ids = [*range(taken.lease.trial_id + 1, taken.lease.trial_id + 1200), taken.lease.trial_id]
        assert ledger.results(ids) == {taken.lease.trial_id: measured(spec_of(1))}
