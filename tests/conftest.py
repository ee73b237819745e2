"""What holds for all tests: slow ones run on request, GPU ones where there is a GPU, some on a database server."""

from collections.abc import Iterator

import pytest

from keepers import Keepers
from postgres import Cluster, missing, running_cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the slow suites")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow_wanted = config.getoption("--slow")
    gpu_marked = [item for item in items if item.get_closest_marker("gpu")]
    if gpu_marked and not _gpu_here():
        for item in gpu_marked:
            item.add_marker(pytest.mark.skip(reason="gpu: there is no CUDA device here"))
    for item in items:
        if item.get_closest_marker("slow") and not slow_wanted:
            item.add_marker(pytest.mark.skip(reason="slow: run `make test-all`"))


def _gpu_here() -> bool:
    """Asked through NVML: torch must not start CUDA in the process that forks trials."""
    from traindyno.machine.gpu import open_reader

    reader = open_reader()
    try:
        return bool(reader.gpus())
    finally:
        reader.close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server of our own, one for all tests of a process; skipped with the reason where there is none."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def keepers() -> Iterator[Keepers]:
    keepers = Keepers()
    yield keepers
    keepers.end()


@pytest.fixture
def lent_keeper(keepers: Keepers) -> Iterator[None]:
    """For tests of what is done with trials: their server, which imports torch, may have served another test before."""
    with keepers.lent():
        yield
