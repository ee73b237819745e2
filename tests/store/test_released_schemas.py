"""Databases of every released schema, as committed under fixtures/, are opened, read and continued."""

import math
import shutil
from pathlib import Path

import pytest

from store.samples import MACHINE, REQUEST, failed, measured, spec_of
from traindyno.core.outcomes import Outcome
from traindyno.store.ledger import Ledger
from traindyno.store.migrations import current_version

FIXTURES = Path(__file__).parent / "fixtures"
SCHEMAS = range(1, current_version() + 1)


@pytest.fixture(params=SCHEMAS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A copy of the fixture, which opening may change."""
    return str(shutil.copy(FIXTURES / f"schema_{request.param}.sqlite", tmp_path / "traindyno.db"))


def test_studies_are_read_as_they_were_written(store: str) -> None:
    with Ledger.open(store) as ledger:
        cut, finished = ledger.studies()
    assert (cut.name, cut.state, cut.owner, cut.machine) == ("cut", "interrupted", "elsewhere", None)
    assert (finished.name, finished.state, finished.request) == ("finished", "done", REQUEST)
    assert (finished.machine, finished.warnings, finished.trials) == (MACHINE, ("noisy",), 3)
    assert (finished.created, finished.updated) == ("2023-11-14T22:13:20+00:00", "2023-11-14T22:14:20+00:00")
    assert finished.answer["best_batch"] == 1
    assert math.isnan(finished.answer["drift_percent"])


def test_trials_are_read_as_they_were_written(store: str) -> None:
    with Ledger.open(store) as ledger:
        first, second, third = ledger.trials(ledger.study("finished").id)
    assert first.measurement is not None
    assert math.isnan(first.measurement.loss or 0.0)
    assert second == measured(spec_of(2), step_seconds=0.75, loss=math.inf)
    assert third == failed(spec_of(4), Outcome.OUT_OF_HOST_MEMORY)


def test_a_cut_study_is_claimed_and_continued(store: str) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.claim_study("cut", "here", 60)
        lease = ledger.lease(ledger.enqueue(study.id, spec_of(8), 0), "here", 60)
        assert lease is not None
        assert lease.fence == 2
        ledger.commit(lease, measured(spec_of(8)))
        assert ledger.trials(study.id) == [measured(spec_of(8))]
