"""What every ledger promises of studies that are deleted, in a file and on a PostgreSQL server."""

import pytest

from store.open_ledger import InFile, OnServer, OpenLedger
from store.samples import MACHINE, REQUEST, FakeClock, failed, measured, spec_of
from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import Outcome
from traindyno.store.ledger import Ledger, StudyRow


class DeletingContract(OpenLedger):
    """Owners here are plain names, taken for runners on other hosts: they live until their lease expires."""

    def study(self, ledger: Ledger, name: str) -> StudyRow:
        """A study with a trial of two attempts, one more that failed, and one that nobody has run."""
        study = ledger.create_study(name, "throughput", REQUEST, MACHINE)
        for size, outcomes in ((8, (Outcome.KILLED, Outcome.OK)), (16, (Outcome.OUT_OF_DEVICE_MEMORY,))):
            trial = ledger.enqueue(study.id, spec_of(size), size)
            for outcome in outcomes:
                lease = ledger.lease(trial, "alice", 60)
                assert lease is not None
                record = measured(spec_of(size)) if outcome is Outcome.OK else failed(spec_of(size), outcome)
                ledger.commit(lease, record)
        ledger.enqueue(study.id, spec_of(32), 3)
        return study

    def test_a_study_goes_with_all_its_trials_and_others_stay(self, ledger: Ledger) -> None:
        gone, kept = self.study(ledger, "gone"), self.study(ledger, "kept")
        before = ledger.trials(kept.id)
        (deleted,) = ledger.delete_studies(["gone"])
        assert (deleted.name, deleted.trials) == ("gone", 2)
        assert [row.name for row in ledger.studies()] == ["kept"]
        assert (ledger.trials(gone.id), ledger.trials(kept.id)) == ([], before)
        with pytest.raises(TraindynoError, match="no study named 'gone'"):
            ledger.study("gone")

    def test_its_name_is_free_for_another(self, ledger: Ledger) -> None:
        self.study(ledger, "it")
        ledger.delete_studies(["it"])
        anew = ledger.create_study("it", "throughput", REQUEST, MACHINE)
        assert ledger.trials(anew.id) == []
        assert ledger.study("it").trials == 0

    def test_where_one_is_unknown_none_is_deleted(self, ledger: Ledger) -> None:
        self.study(ledger, "known")
        with pytest.raises(TraindynoError, match="no study named 'unknown'"):
            ledger.delete_studies(["known", "unknown"])
        assert ledger.study("known").trials == 2

    def test_one_that_runs_is_refused_by_who_runs_it_until_that_one_is_gone(
        self, ledger: Ledger, clock: FakeClock
    ) -> None:
        self.study(ledger, "running")
        ledger.claim_study("running", "bob", 60)
        with pytest.raises(TraindynoError, match="'running' is being run by bob"):
            ledger.delete_studies(["running"])
        clock.seconds += 61
        ledger.delete_studies(["running"])
        assert ledger.studies() == []

    def test_one_of_which_somebody_has_a_trial_is_refused(self, ledger: Ledger) -> None:
        study = self.study(ledger, "shared")
        assert ledger.lease(ledger.enqueue(study.id, spec_of(32), 3), "carol", 60) is not None
        with pytest.raises(TraindynoError, match="'shared' is being run by carol"):
            ledger.delete_studies(["shared"])
        assert ledger.study("shared").trials == 2

    def test_a_name_given_twice_is_one_study(self, ledger: Ledger) -> None:
        self.study(ledger, "it")
        assert [row.name for row in ledger.delete_studies(["it", "it"])] == ["it"]


class TestSqliteDeleting(InFile, DeletingContract):
    pass


class TestPostgresqlDeleting(OnServer, DeletingContract):
    pass
