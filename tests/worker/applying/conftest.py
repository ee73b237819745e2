"""Settings hold for the whole process, which here goes on to other tests."""

import os
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def own_flags() -> Iterator[None]:
    threads, environment = torch.get_num_threads(), dict(os.environ)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False
    torch.backends.cudnn.benchmark = False
    for name in set(os.environ) - set(environment):
        del os.environ[name]
