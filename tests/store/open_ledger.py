"""What every contract of the ledger begins with: an open one, and a clock that only tests move."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres import Cluster
from store.samples import FakeClock
from traindyno.store.ledger import Ledger


class OpenLedger:
    """A contract; a backend inherits it beside `InFile` or `OnServer`, which say where the ledger is."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def ledger(self, store: str, clock: FakeClock) -> Iterator[Ledger]:
        with Ledger.open(store, clock=clock) as ledger:
            yield ledger


class InFile:
    @pytest.fixture
    def store(self, tmp_path: Path) -> str:
        return str(tmp_path / "traindyno.db")


class OnServer:
    @pytest.fixture
    def store(self, cluster: Cluster) -> str:
        return cluster.new_store()
