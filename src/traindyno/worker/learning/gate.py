"""A gate before every item that loader workers read: nothing is made for training while its clock stands still."""

import os
import time
from collections.abc import Iterator, Sequence

import torch

LOOK_SECONDS = 0.002


class Gate:
    """Open unless it is shut. It travels to loader workers, by fork or pickled, and is the same gate there.

    A worker that finds it shut waits before its next item, where it holds nothing that others may need; so each makes
    at most the one item that it was at. One whose parent is gone waits no longer.
    """

    def __init__(self) -> None:
        self._shut = torch.zeros((), dtype=torch.bool)
        self._shut.share_memory_()  # type: ignore[no-untyped-call]

    def open(self) -> None:
        self._shut.fill_(False)

    def shut(self) -> None:
        self._shut.fill_(True)

    def wait(self) -> None:
        """Until the gate is open."""
        parent = os.getppid()
        while self._shut.item() and os.getppid() == parent:
            time.sleep(LOOK_SECONDS)

    def through(self, tickets: Sequence[int]) -> Iterator[int]:
        """The tickets one by one, each while the gate is open; what follows the last one waits as well."""
        for ticket in tickets:
            self.wait()
            yield ticket
        self.wait()
