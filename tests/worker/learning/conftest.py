"""Flags of the whole process are put back: a trial has a process of its own, a test has not."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def same_process_afterwards(one_thread: None) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        yield
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False
