"""Flags of the whole process are put back: a trial has a process of its own, a test has not."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def same_flags_afterwards(one_thread: None) -> Iterator[None]:
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    before = (cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, products.allow_tf32)
    yield
    cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, products.allow_tf32 = before
    torch.use_deterministic_algorithms(False)
