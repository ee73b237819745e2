"""A real Ray cluster on this machine, with a head that measures nothing and some machines that do."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

STORE_BYTES = 80 << 20
# Ray reads them once in a process, so they are the same for all clusters of this one.
VARIABLES = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(16),
}


class Nodes:
    """`variables` are what a process needs to get in."""

    def __init__(self, cluster: Any, machines: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        self._cluster, self.machines, self.variables = cluster, dict(machines), dict(variables)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, name: str) -> None:
        self.machines[name] = _add(self._cluster, name, cpus=1)

    def lose(self, name: str) -> None:
        """kill -9 of all of a machine's processes."""
        self._cluster.remove_node(self.machines.pop(name), allow_graceful=False)


@contextmanager
def started_head() -> Iterator[str]:
    """The address of a Ray with no machines but its head, as the variables of this process have it."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        _add(cluster, "head", cpus=0)
        yield str(cluster.address)
    finally:
        _end(cluster)


@contextmanager
def ray_nodes(*names: str, gpus: int = 0) -> Iterator[Nodes]:
    """Machines by name, with one CPU each, and so many GPUs in Ray's accounts."""
    with mock.patch.dict(os.environ, VARIABLES):
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        try:
            _add(cluster, "head", cpus=0)
            yield Nodes(cluster, {name: _add(cluster, name, cpus=1, gpus=gpus) for name in names}, VARIABLES)
        finally:
            _end(cluster)


def _end(cluster: Any) -> None:
    """With Ray's files, which it leaves behind."""
    folder = cluster.head_node.get_session_dir_path() if cluster.head_node is not None else None
    cluster.shutdown()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _add(cluster: Any, name: str, cpus: int, gpus: int = 0) -> Any:
    return cluster.add_node(
        node_ip_address="127.0.0.1",
        node_name=name,
        num_cpus=cpus,
        num_gpus=gpus,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
    )


def wait_for(what: str, is_so: Any, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.1)
