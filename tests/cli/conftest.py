"""What holds for all tests of commands: those with real trials share the process that starts them."""

import pytest


@pytest.fixture(autouse=True)
def _lent_keeper(lent_keeper: None) -> None:
    """A trial server of its own would cost each of them seconds; `faults` and `runner` test the server itself."""
