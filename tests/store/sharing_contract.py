"""What every ledger promises of studies that several processes run together."""

import threading

import msgspec
import pytest

from store.open_ledger import OpenLedger
from store.samples import MACHINE, REQUEST, FakeClock, failed, measured, spec_of
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.requests import Request
from traindyno.store.ledger import Ledger, StudyRow

WIDER = msgspec.structs.replace(REQUEST, largest=512)


class SharingContract(OpenLedger):
    """Owners here are plain names, taken for runners on other hosts: they live until their lease expires."""

    @pytest.fixture
    def study(self, ledger: Ledger) -> StudyRow:
        return ledger.create_study("shared", "throughput", REQUEST, MACHINE)

    def take_part(self, ledger: Ledger, owner: str, request: Request = REQUEST) -> tuple[StudyRow, bool]:
        return ledger.take_part("shared", "throughput", request, MACHINE, lambda _: request, owner, 60)

    def take(self, ledger: Ledger, study: StudyRow, size: int, owner: str, seconds: float = 60) -> int:
        trial = ledger.enqueue(study.id, spec_of(size), size)
        assert ledger.lease(trial, owner, seconds) is not None
        return trial

    # Joining

    def test_the_first_to_take_part_begins_the_study_and_the_next_joins_it(self, ledger: Ledger) -> None:
        first, alone = self.take_part(ledger, "alice")
        again, beside = self.take_part(ledger, "bob")
        assert (alone, beside) == (True, False)
        assert (again.id, again.owner) == (first.id, "alice")

    def test_a_name_that_is_no_name_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(UsageError, match="cannot be the name"):
            ledger.take_part("../x", "throughput", REQUEST, None, lambda _: REQUEST, "alice", 60)

    def test_nobody_is_refused_and_the_first_is_the_owner(self, ledger: Ledger, study: StudyRow) -> None:
        assert ledger.join_study("shared", "alice", 60).owner == "alice"
        assert ledger.join_study("shared", "bob", 60).owner == "alice"

    def test_who_comes_again_when_the_owner_is_gone_takes_its_place(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.join_study("shared", "alice", 60)
        ledger.join_study("shared", "bob", 60)
        clock.seconds += 61
        assert ledger.study("shared").state == "interrupted"
        again = ledger.join_study("shared", "bob", 60)
        assert (again.owner, again.state) == ("bob", "running")

    def test_a_study_whose_owner_died_runs_while_another_has_a_trial_of_it(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.join_study("shared", "alice", 60)
        self.take(ledger, study, 1, "bob", seconds=600)
        clock.seconds += 61
        assert ledger.study("shared").state == "running"
        assert [row.state for row in ledger.studies()] == ["running"]
        clock.seconds += 600
        assert ledger.study("shared").state == "interrupted"

    def test_an_owner_who_leaves_hands_over_to_who_has_a_trial(self, ledger: Ledger, study: StudyRow) -> None:
        ledger.join_study("shared", "alice", 60)
        self.take(ledger, study, 1, "bob")
        ledger.release_study("shared", "alice")
        left = ledger.study("shared")
        assert (left.owner, left.state) == ("bob", "running")

    def test_a_study_is_interrupted_when_the_last_leaves_it(self, ledger: Ledger, study: StudyRow) -> None:
        ledger.join_study("shared", "alice", 60)
        ledger.join_study("shared", "bob", 60)
        ledger.release_study("shared", "bob")
        assert ledger.study("shared").state == "running"
        ledger.release_study("shared", "alice")
        assert (ledger.study("shared").state, ledger.study("shared").owner) == ("interrupted", None)

    def test_who_takes_part_is_known_by_owning_it_or_by_having_a_trial(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.join_study("shared", "alice", 60)
        self.take(ledger, study, 1, "bob", seconds=600)
        assert ledger.others_in(study.id, "alice") == ["bob"]
        assert ledger.others_in(study.id, "carol") == ["alice", "bob"]
        clock.seconds += 61
        assert ledger.others_in(study.id, "carol") == ["bob"]

    # Other requests

    def test_a_study_can_be_asked_something_else(self, ledger: Ledger, study: StudyRow) -> None:
        changed, _ = self.take_part(ledger, "alice", WIDER)
        assert changed.request == ledger.study("shared").request == WIDER

    def test_but_not_while_others_run_it_as_it_was(self, ledger: Ledger, study: StudyRow) -> None:
        self.take(ledger, study, 1, "bob")
        with pytest.raises(TraindynoError, match="is being run by bob"):
            self.take_part(ledger, "alice", WIDER)
        assert ledger.study("shared").request == REQUEST

    def test_of_two_who_begin_at_once_with_different_requests_only_one_does(self, ledger: Ledger) -> None:
        self.take_part(ledger, "alice")
        with pytest.raises(TraindynoError, match="is being run by alice"):
            self.take_part(ledger, "bob", WIDER)
        assert ledger.study("shared").request == REQUEST

    def test_who_is_refused_leaves_nothing_behind(self, ledger: Ledger) -> None:
        def refuse(row: StudyRow) -> Request:
            raise UsageError("it is not that question", "ask another")

        with pytest.raises(UsageError, match="not that question"):
            ledger.take_part("shared", "throughput", REQUEST, None, refuse, "alice", 60)
        assert ledger.studies() == []

    # Growing

    def test_a_study_grows_for_who_knows_all_of_it(self, ledger: Ledger, study: StudyRow) -> None:
        assert ledger.enqueue_all_if(study.id, [spec_of(1), spec_of(2)], known_trials=0)
        assert not ledger.enqueue_all_if(study.id, [spec_of(3), spec_of(4)], known_trials=1)
        assert ledger.enqueue_all_if(study.id, [spec_of(3)], known_trials=2)
        told = [(trial.ordinal, trial.spec) for trial in ledger.queue(study.id)]
        assert told == [(size, spec_of(size)) for size in (1, 2, 3)]

    def test_trials_of_other_studies_do_not_count(self, ledger: Ledger, study: StudyRow) -> None:
        other = ledger.create_study("other", "throughput", REQUEST, None)
        ledger.enqueue(other.id, spec_of(1), 1)
        assert ledger.enqueue_all_if(study.id, [spec_of(1)], known_trials=0)
        assert len(ledger.queue(study.id)) == 1

    def test_of_two_that_grow_a_study_at_once_neither_draws_what_the_other_has(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock, store: str
    ) -> None:
        drawn: dict[str, list[int]] = {"alice": [], "bob": []}
        start = threading.Barrier(len(drawn))

        def grow(owner: str) -> None:
            with Ledger.open(store, clock=clock) as own:
                start.wait()
                while (known := len(own.queue(study.id))) < 30:
                    if own.enqueue_all_if(study.id, [spec_of(known + 1)], known):
                        drawn[owner].append(known + 1)

        threads = [threading.Thread(target=grow, args=(owner,)) for owner in drawn]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(drawn["alice"] + drawn["bob"]) == list(range(1, 31))
        assert [trial.spec for trial in ledger.queue(study.id)] == [spec_of(size) for size in range(1, 31)]

    # Reading

    def test_every_trial_is_told_with_what_became_of_it(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        done = self.take(ledger, study, 1, "alice")
        lease = ledger.lease(ledger.enqueue(study.id, spec_of(2), 2), "alice", 60)
        assert lease is not None
        ledger.commit(lease, measured(spec_of(2)))
        self.take(ledger, study, 3, "bob", seconds=600)
        ledger.enqueue(study.id, spec_of(4), 4)
        clock.seconds += 61
        told = [(each.ordinal, each.outcome, each.in_hands) for each in ledger.queue(study.id)]
        assert told == [(1, None, False), (2, Outcome.OK, False), (3, None, True), (4, None, False)]
        assert ledger.queue(study.id)[0].id == done
        assert ledger.results([done, lease.trial_id]) == {lease.trial_id: measured(spec_of(2))}

    def test_results_that_say_nothing_are_counted(self, ledger: Ledger, study: StudyRow) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 1)
        endings = (Outcome.KILLED, Outcome.INTERRUPTED, Outcome.INFRASTRUCTURE)
        for ending in endings:
            lease = ledger.lease(trial, "alice", 60)
            assert lease is not None
            ledger.commit(lease, failed(spec_of(1), ending))
        (told,) = ledger.queue(study.id)
        assert (told.outcome, told.losses, told.fence) == (Outcome.INFRASTRUCTURE, 2, 3)
        assert ledger.results([trial]) == {trial: failed(spec_of(1), Outcome.INFRASTRUCTURE)}
