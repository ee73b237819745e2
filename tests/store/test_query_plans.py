"""Taking a trial must not read the thousands that have ended or run: both databases are asked how they find it."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event

from store.open_ledger import InFile, OnServer, OpenLedger
from store.samples import REQUEST, spec_of
from traindyno.store.ledger import Ledger

TRIALS = 3000
ENDED = "UPDATE trials SET committed_fence = 1, fence = 1 WHERE ordinal <= 1500"
RUNNING = "UPDATE trials SET owner = 'far-away', expires = 2000000000, fence = 1 WHERE ordinal BETWEEN 1501 AND 2900"
WHOLE_TABLE = ("SCAN trials", "Seq Scan on trials")


class Plans(OpenLedger):
    explain: str

    @pytest.fixture
    def plans(self, ledger: Ledger) -> Iterator[list[str]]:
        """How the database would go about each statement that is about trials, from here on."""
        told: list[str] = []

        def ask(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            if statement.startswith(("UPDATE trials", "SELECT")) and "trials" in statement:
                asked = connection.connection.cursor()
                asked.execute(f"{self.explain} {statement}", parameters)
                told.append("\n".join(str(row[-1]) for row in asked.fetchall()))

        study = ledger.create_study("shared", "throughput", REQUEST, None)
        assert ledger.enqueue_all_if(study.id, [spec_of(size) for size in range(1, TRIALS + 1)], known_trials=0)
        writer = ledger._database.writer
        with writer.begin() as connection:
            for statement in (ENDED, RUNNING, "ANALYZE"):
                connection.exec_driver_sql(statement)
        event.listen(writer, "before_cursor_execute", ask)
        yield told
        event.remove(writer, "before_cursor_execute", ask)

    def test_taking_the_next_trial_reads_no_table_from_end_to_end(self, ledger: Ledger, plans: list[str]) -> None:
        taken = ledger.lease_next(1, "alice", 60, count_left=5)
        assert taken is not None
        assert (taken.ordinal, taken.left) == (2901, 5)
        expired, waiting, counted = plans
        assert "held_trials" in expired
        assert "waiting_trials" in waiting
        assert "waiting_trials" in counted
        assert not [plan for plan in plans for words in WHOLE_TABLE if words in plan]


class TestSqlitePlans(InFile, Plans):
    explain = "EXPLAIN QUERY PLAN"


class TestPostgresqlPlans(OnServer, Plans):
    explain = "EXPLAIN"
