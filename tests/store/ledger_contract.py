"""What every ledger promises, whichever database keeps it. A backend inherits the class and opens itself."""

import math
import re
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from store.open_ledger import OpenLedger
from store.samples import (
    MACHINE,
    REQUEST,
    FakeClock,
    answers,
    any_text,
    failed,
    machines,
    measured,
    records,
    requests,
    spec_of,
    tuples_of,
)
from traindyno.core.codec import encode
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Block, TrialRecord, WorkloadSpec
from traindyno.core.requests import Bench, MaxBatchRequest
from traindyno.store.ledger import Ledger, StaleLeaseError, StudyRow
from traindyno.store.rows import REPEATABLE

FINAL = sorted(set(Outcome) - REPEATABLE)
# The same test in the classes of several databases is meant so, and a ledger for many examples too.
MEANT_SO = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
round_trips = settings(max_examples=25, deadline=None, suppress_health_check=MEANT_SO)


class LedgerContract(OpenLedger):
    """Owners here are plain names, taken for runners on other hosts: they live until their lease expires."""

    @pytest.fixture
    def study(self, ledger: Ledger) -> StudyRow:
        return ledger.create_study("first", "throughput", REQUEST, MACHINE)

    # Studies

    def test_a_new_study_is_read_back_as_it_was_written(self, ledger: Ledger, study: StudyRow) -> None:
        assert study == ledger.study("first")
        assert (study.command, study.state, study.request, study.machine) == (
            "throughput",
            "running",
            REQUEST,
            MACHINE,
        )
        assert (study.answer, study.warnings, study.trials, study.owner) == (None, (), 0, None)
        assert study.created == study.updated == "2023-11-14T22:13:20+00:00"

    @round_trips
    @given(request_=requests, machine=machines, answer=answers, warnings=tuples_of(any_text))
    def test_any_study_survives_the_round_trip(
        self, ledger: Ledger, request_: Any, machine: Any, answer: Any, warnings: tuple[str, ...]
    ) -> None:
        name = ledger.create_study(None, "plan", request_, machine).name
        ledger.finish(name, "done", answer, warnings)
        study = ledger.study(name)
        assert type(study.request) is type(request_)
        assert encode(study.request) == encode(request_)
        assert encode(study.machine) == encode(machine)
        assert encode(study.answer) == encode(answer)
        assert study.warnings == warnings

    def test_studies_are_listed_newest_first(self, ledger: Ledger) -> None:
        for name in ("b", "a", "c"):
            ledger.create_study(name, "plan", REQUEST, None)
        assert [study.name for study in ledger.studies()] == ["c", "a", "b"]

    def test_a_study_without_a_name_gets_one_from_command_and_time(self, ledger: Ledger) -> None:
        names = [ledger.create_study(None, "max-batch", REQUEST, None).name for _ in range(3)]
        stem = "max-batch-20231114-221320"
        assert names == [stem, f"{stem}-2", f"{stem}-3"]

    def test_a_study_that_failed_before_it_measured_anything_leaves_its_name(
        self, ledger: Ledger, study: StudyRow
    ) -> None:
        self.commit(ledger, study, failed(spec_of(1), Outcome.USER_ERROR))
        ledger.finish("first", "failed", None)
        anew = ledger.create_study("first", "max-batch", REQUEST, MACHINE)
        assert (anew.command, anew.state, anew.trials) == ("max-batch", "running", 0)
        assert [each.name for each in ledger.studies()] == ["first"]

    def test_one_that_measured_something_keeps_it(self, ledger: Ledger, study: StudyRow) -> None:
        self.commit(ledger, study, measured(spec_of(1)), 1)
        self.commit(ledger, study, failed(spec_of(2), Outcome.USER_ERROR), 2)
        ledger.finish("first", "failed", None)
        with pytest.raises(UsageError, match="already a study named 'first', and it failed"):
            ledger.create_study("first", "max-batch", REQUEST, MACHINE)
        assert ledger.study("first").trials == 2

    def test_a_taken_name_is_refused_with_both_ways_out(self, ledger: Ledger, study: StudyRow) -> None:
        with pytest.raises(UsageError, match="already a study named 'first'") as refusal:
            ledger.create_study("first", "plan", REQUEST, None)
        assert "--name" in str(refusal.value.hint)
        assert "traindyno resume first" in str(refusal.value.hint)
        assert ledger.study("first") == study

    def test_a_study_of_the_users_own_code_is_resumed_with_that_named_again(self, ledger: Ledger) -> None:
        workload = WorkloadSpec(model="my jobs/a.py:build", source_sha256="0" * 64)
        ledger.create_study("own", "max-batch", MaxBatchRequest(workloads=(workload,), bench=Bench()), None)
        with pytest.raises(TraindynoError) as refusal:
            ledger.create_study("own", "plan", REQUEST, None)
        assert "`traindyno resume own --model 'my jobs/a.py:build'`" in str(refusal.value.hint)

    @pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "ä", "a\n", "x" * 65])
    def test_a_name_that_is_no_name_is_refused(self, ledger: Ledger, name: str) -> None:
        with pytest.raises(UsageError, match="cannot be the name of a study"):
            ledger.create_study(name, "plan", REQUEST, None)
        assert ledger.studies() == []

    def test_an_unknown_study_is_answered_with_the_nearest_names(self, ledger: Ledger) -> None:
        for name in ("resnet50-a100", "resnet18-cpu", "vit"):
            ledger.create_study(name, "plan", REQUEST, None)
        with pytest.raises(TraindynoError, match="no study named 'resnet50-a10'") as refusal:
            ledger.study("resnet50-a10")
        assert "resnet50-a100" in str(refusal.value.hint)
        assert "vit" not in str(refusal.value.hint)

    def test_finishing_stores_state_answer_and_warnings(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        clock.seconds += 60
        ledger.finish("first", "done", {"ratio": math.inf, "rows": [math.nan, 1]}, ["noisy"])
        finished = ledger.study("first")
        assert (finished.state, finished.warnings) == ("done", ("noisy",))
        assert finished.answer["ratio"] == math.inf
        assert math.isnan(finished.answer["rows"][0])
        assert (finished.created, finished.updated) == (study.created, "2023-11-14T22:14:20+00:00")

    @pytest.mark.parametrize("name", ["a\0b", "\udc80", "x" * 100_000, "'; DROP TABLE studies; --"])
    def test_a_name_that_no_study_can_have_is_unknown_like_any_other(self, ledger: Ledger, name: str) -> None:
        with pytest.raises(TraindynoError, match="no study named"):
            ledger.study(name)

    def test_texts_are_kept_whatever_they_contain(self, ledger: Ledger, study: StudyRow) -> None:
        odd = ("with \0 within", "lone \udc80", "naïve 测试 🚂", "'quoted' \"twice\" \\", "")
        ledger.finish("first", "done", {text: text for text in odd}, odd)
        finished = ledger.study("first")
        assert (finished.warnings, finished.answer) == (odd, {text: text for text in odd})

    def test_a_very_long_record_is_kept_whole(self, ledger: Ledger, study: StudyRow) -> None:
        blocks = tuple(Block(steps=1, seconds=number / 7) for number in range(100_000))
        record = measured(spec_of(1))
        assert record.measurement is not None
        record = replace(record, measurement=replace(record.measurement, blocks=blocks))
        self.commit(ledger, study, record)
        assert ledger.trials(study.id) == [record]

    def test_an_unknown_study_cannot_be_finished(self, ledger: Ledger) -> None:
        with pytest.raises(TraindynoError, match="no study named"):
            ledger.finish("nowhere", "done", None, ())

    # Who runs a study

    def test_a_claimed_study_is_refused_to_another_runner(self, ledger: Ledger, study: StudyRow) -> None:
        assert ledger.claim_study("first", "alice", 60).owner == "alice"
        with pytest.raises(TraindynoError, match="being run by alice") as refusal:
            ledger.claim_study("first", "bob", 60)
        assert "traindyno resume first" in str(refusal.value.hint)
        assert ledger.study("first").owner == "alice"

    def test_an_expired_claim_is_up_for_taking(self, ledger: Ledger, study: StudyRow, clock: FakeClock) -> None:
        ledger.claim_study("first", "alice", 60)
        clock.seconds += 61
        assert ledger.study("first").state == "interrupted"
        taken = ledger.claim_study("first", "bob", 60)
        assert (taken.owner, taken.state) == ("bob", "running")
        assert not ledger.renew_study("first", "alice", 60)

    def test_a_renewed_claim_holds_longer(self, ledger: Ledger, study: StudyRow, clock: FakeClock) -> None:
        ledger.claim_study("first", "alice", 60)
        clock.seconds += 50
        assert ledger.renew_study("first", "alice", 60)
        clock.seconds += 50
        with pytest.raises(TraindynoError, match="being run by alice"):
            ledger.claim_study("first", "bob", 60)

    def test_a_released_study_is_interrupted_and_free(self, ledger: Ledger, study: StudyRow) -> None:
        ledger.claim_study("first", "alice", 60)
        ledger.release_study("first", "alice")
        released = ledger.study("first")
        assert (released.state, released.owner) == ("interrupted", None)
        assert ledger.claim_study("first", "bob", 60).owner == "bob"

    def test_releasing_a_finished_study_leaves_its_state(self, ledger: Ledger, study: StudyRow) -> None:
        ledger.claim_study("first", "alice", 60)
        ledger.finish("first", "done", 1, ())
        ledger.release_study("first", "alice")
        assert ledger.study("first").state == "done"

    def test_nobody_releases_or_finishes_the_claim_of_another(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        ledger.claim_study("first", "alice", 60)
        clock.seconds += 61
        ledger.claim_study("first", "bob", 60)
        ledger.release_study("first", "alice")
        with pytest.raises(TraindynoError, match="being run by bob"):
            ledger.finish("first", "done", "late", (), owner="alice")
        assert (ledger.study("first").owner, ledger.study("first").answer) == ("bob", None)

    # Trials

    @round_trips
    @given(record=records)
    def test_any_record_survives_the_round_trip(self, ledger: Ledger, record: TrialRecord) -> None:
        study = ledger.create_study(None, "plan", REQUEST, None)
        self.commit(ledger, study, record)
        (stored,) = ledger.trials(study.id)
        assert encode(stored) == encode(record)
        assert stored.spec.key == record.spec.key
        assert type(stored.outcome) is Outcome

    def test_not_a_number_and_infinity_stay_what_they_are(self, ledger: Ledger, study: StudyRow) -> None:
        self.commit(ledger, study, measured(spec_of(1), step_seconds=math.inf, loss=math.nan))
        (stored,) = ledger.trials(study.id)
        assert stored.measurement is not None
        assert stored.measurement.loss is not None
        assert math.isnan(stored.measurement.loss)
        assert stored.measurement.step_seconds == math.inf

    def test_the_same_trial_is_queued_once_per_study(self, ledger: Ledger, study: StudyRow) -> None:
        other = ledger.create_study("second", "plan", REQUEST, None)
        first = ledger.enqueue(study.id, spec_of(1), 0)
        assert ledger.enqueue(study.id, spec_of(1), 5) == first
        assert ledger.enqueue(study.id, spec_of(2), 1) != first
        assert ledger.enqueue(other.id, spec_of(1), 0) != first

    def test_trials_come_in_the_order_in_which_they_were_asked_for(self, ledger: Ledger, study: StudyRow) -> None:
        for ordinal, batch_size in ((2, 4), (0, 16), (1, 8)):
            self.commit(ledger, study, measured(spec_of(batch_size)), ordinal)
        assert [record.batch_size for record in ledger.trials(study.id)] == [16, 8, 4]
        assert ledger.study("first").trials == 3

    def test_queued_and_leased_trials_are_not_results(self, ledger: Ledger, study: StudyRow) -> None:
        ledger.enqueue(study.id, spec_of(1), 0)
        ledger.lease(ledger.enqueue(study.id, spec_of(2), 1), "alice", 60)
        assert ledger.trials(study.id) == []
        assert ledger.study("first").trials == 0

    # Leases

    def test_a_leased_trial_is_refused_to_another(self, ledger: Ledger, study: StudyRow) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        assert ledger.lease(trial, "alice", 60) is not None
        assert ledger.lease(trial, "bob", 60) is None
        assert ledger.lease(trial, "alice", 60) is None

    def test_each_lease_has_a_higher_fence(self, ledger: Ledger, study: StudyRow, clock: FakeClock) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        fences = []
        for owner in ("alice", "bob", "carol"):
            lease = ledger.lease(trial, owner, 60)
            assert lease is not None
            fences.append(lease.fence)
            clock.seconds += 61
        assert fences == sorted(set(fences))

    def test_a_late_commit_with_an_old_fence_is_refused(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        late = ledger.lease(trial, "alice", 60)
        clock.seconds += 61
        current = ledger.lease(trial, "bob", 60)
        assert late is not None
        assert current is not None
        with pytest.raises(StaleLeaseError, match="another runner"):
            ledger.commit(late, measured(spec_of(1), step_seconds=1.0))
        assert ledger.trials(study.id) == []
        ledger.commit(current, measured(spec_of(1), step_seconds=2.0))
        with pytest.raises(StaleLeaseError):
            ledger.commit(late, measured(spec_of(1), step_seconds=1.0))
        assert ledger.trials(study.id) == [measured(spec_of(1), step_seconds=2.0)]

    def test_a_runner_cannot_commit_with_its_own_older_lease(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        older = ledger.lease(trial, "alice", 60)
        clock.seconds += 61
        newer = ledger.lease(trial, "alice", 60)
        assert older is not None
        assert newer is not None
        assert not ledger.renew(older, 60)
        with pytest.raises(StaleLeaseError):
            ledger.commit(older, measured(spec_of(1)))
        assert ledger.renew(newer, 60)

    def test_a_commit_marks_the_study_as_updated(self, ledger: Ledger, study: StudyRow, clock: FakeClock) -> None:
        clock.seconds += 60
        self.commit(ledger, study, measured(spec_of(1)))
        assert ledger.study("first").updated == "2023-11-14T22:14:20+00:00"

    def test_an_expired_lease_that_nobody_took_may_still_commit(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        lease = ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), "alice", 60)
        assert lease is not None
        clock.seconds += 61
        ledger.commit(lease, measured(spec_of(1)))
        assert ledger.trials(study.id) == [measured(spec_of(1))]

    def test_a_lease_commits_only_once(self, ledger: Ledger, study: StudyRow) -> None:
        lease = ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), "alice", 60)
        assert lease is not None
        ledger.commit(lease, failed(spec_of(1), Outcome.KILLED))
        with pytest.raises(StaleLeaseError, match="already used"):
            ledger.commit(lease, measured(spec_of(1)))
        assert ledger.trials(study.id) == [failed(spec_of(1), Outcome.KILLED)]

    def test_a_renewed_lease_holds_longer_and_a_lost_one_is_not_renewed(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        lease = ledger.lease(trial, "alice", 60)
        assert lease is not None
        clock.seconds += 50
        assert ledger.renew(lease, 60)
        clock.seconds += 50
        assert ledger.lease(trial, "bob", 60) is None
        clock.seconds += 11
        assert ledger.lease(trial, "bob", 60) is not None
        assert not ledger.renew(lease, 60)

    def test_the_very_same_result_may_come_twice_and_counts_once(self, ledger: Ledger, study: StudyRow) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        lease = ledger.lease(trial, "alice", 60)
        assert lease is not None
        for _ in range(2):
            ledger.commit(lease, measured(spec_of(1), loss=math.nan))
        assert len(ledger.attempts(trial)) == 1

    def test_a_released_trial_can_be_leased_at_once(self, ledger: Ledger, study: StudyRow) -> None:
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        first = ledger.lease(trial, "alice", 60)
        assert first is not None
        ledger.release(first)
        assert ledger.lease(trial, "bob", 60) is not None
        ledger.release(first)
        assert ledger.lease(trial, "carol", 60) is None
        with pytest.raises(StaleLeaseError):
            ledger.commit(first, measured(spec_of(1)))

    @pytest.mark.parametrize("outcome", FINAL)
    def test_a_final_outcome_is_never_leased_again(self, ledger: Ledger, study: StudyRow, outcome: Outcome) -> None:
        record = measured(spec_of(1)) if outcome is Outcome.OK else failed(spec_of(1), outcome)
        trial = self.commit(ledger, study, record)
        assert ledger.lease(trial, "bob", 60) is None

    def test_the_moment_of_a_result_is_that_of_its_latest_attempt(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock
    ) -> None:
        assert ledger.moments(study.id) == {}
        trial = ledger.enqueue(study.id, spec_of(1), 1)
        for outcome in (Outcome.KILLED, Outcome.TIMEOUT):
            lease = ledger.lease(trial, "alice", 60)
            assert lease is not None
            ledger.commit(lease, failed(spec_of(1), outcome))
            clock.seconds += 100
        ledger.finish(study.name, "done", None)
        assert ledger.moments(study.id) == {spec_of(1).key: "2023-11-14T22:15:00+00:00"}

    @pytest.mark.parametrize("outcome", sorted(REPEATABLE))
    def test_a_repeatable_outcome_is_run_again_and_its_first_attempt_kept(
        self, ledger: Ledger, study: StudyRow, outcome: Outcome
    ) -> None:
        first, second = failed(spec_of(1), outcome), measured(spec_of(1))
        trial = self.commit(ledger, study, first)
        again = ledger.lease(trial, "bob", 60)
        assert again is not None
        assert ledger.trials(study.id) == [first]
        ledger.commit(again, second)
        assert ledger.trials(study.id) == [second]
        assert ledger.attempts(trial) == [first, second]
        assert ledger.study("first").trials == 1
        assert ledger.lease(trial, "carol", 60) is None

    def test_of_two_runners_at_once_exactly_one_gets_each_trial(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock, store: str
    ) -> None:
        trials = [ledger.enqueue(study.id, spec_of(size), size) for size in range(1, 31)]
        won: dict[str, list[int]] = {"alice": [], "bob": []}
        start = threading.Barrier(len(won))

        def run(owner: str) -> None:
            with Ledger.open(store, clock=clock) as own:
                start.wait()
                won[owner] = [trial for trial in trials if own.lease(trial, owner, 60) is not None]

        threads = [threading.Thread(target=run, args=(owner,)) for owner in won]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won["alice"] + won["bob"]) == trials

    def test_everything_is_there_after_opening_again(
        self, ledger: Ledger, study: StudyRow, clock: FakeClock, store: str
    ) -> None:
        self.commit(ledger, study, measured(spec_of(1)))
        with Ledger.open(store, clock=clock) as again:
            assert again.studies() == ledger.studies()
            assert again.trials(study.id) == [measured(spec_of(1))]

    def test_generated_names_are_always_allowed(self, ledger: Ledger) -> None:
        for command in ("max-batch", "round analyse", "…", "x" * 100):
            name = ledger.create_study(None, command, REQUEST, None).name
            assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name)

    @staticmethod
    def commit(ledger: Ledger, study: StudyRow, record: TrialRecord, ordinal: int = 0) -> int:
        """Queue, lease and commit one result; the trial's id."""
        trial = ledger.enqueue(study.id, record.spec, ordinal)
        lease = ledger.lease(trial, "alice", 60)
        assert lease is not None
        ledger.commit(lease, record)
        return trial
