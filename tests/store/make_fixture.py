"""Writes fixtures/schema_N.sqlite, a small ledger of the present schema. Run once per released schema:

python tests/store/make_fixture.py
"""

import math
from pathlib import Path

from store.samples import MACHINE, REQUEST, FakeClock, failed, measured, spec_of
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.store.ledger import Ledger
from traindyno.store.migrations import current_version

FIXTURES = Path(__file__).parent / "fixtures"


def main() -> None:
    path = FIXTURES / f"schema_{current_version()}.sqlite"
    path.unlink(missing_ok=True)
    clock = FakeClock()
    with Ledger.open(str(path), clock=clock) as ledger:
        finished = ledger.create_study("finished", "throughput", REQUEST, MACHINE)
        _commit(ledger, finished.id, 0, measured(spec_of(1), step_seconds=0.5, loss=math.nan))
        _commit(ledger, finished.id, 1, failed(spec_of(2), Outcome.INTERRUPTED))
        _commit(ledger, finished.id, 1, measured(spec_of(2), step_seconds=0.75, loss=math.inf))
        _commit(ledger, finished.id, 2, failed(spec_of(4), Outcome.OUT_OF_HOST_MEMORY))
        clock.seconds += 60
        ledger.finish("finished", "done", {"best_batch": 1, "drift_percent": math.nan}, ["noisy"])
        cut = ledger.create_study("cut", "throughput", REQUEST, None)
        ledger.claim_study("cut", "elsewhere", 60)
        ledger.lease(ledger.enqueue(cut.id, spec_of(8), 0), "elsewhere", 60)


def _commit(ledger: Ledger, study_id: int, ordinal: int, record: TrialRecord) -> None:
    lease = ledger.lease(ledger.enqueue(study_id, record.spec, ordinal), "elsewhere", 60)
    assert lease is not None
    ledger.commit(lease, record)


if __name__ == "__main__":
    main()
