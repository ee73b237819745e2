"""What every contract of the ledger begins with: an open one, and a clock that only tests move."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.samples import FakeClock
from traindyno.store.ledger import Ledger


class OpenLedger(ABC):
    @abstractmethod
    def open_ledger(self, place: Path, clock: FakeClock) -> Ledger:
        """A ledger in that place; opened twice, both see the same studies."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def ledger(self, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
        with self.open_ledger(tmp_path, clock) as ledger:
            yield ledger
