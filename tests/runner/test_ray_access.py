"""Who gets into a Ray cluster, and which clusters are none to get into."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import ray_nodes
from ray_nodes import VARIABLES
from store.samples import REQUEST
from traindyno.app.context import Context
from traindyno.app.resume import resume
from traindyno.cli.main import cli
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.runner.ray_access import check_guarded, check_token, entered
from traindyno.store.ledger import Ledger

WITH_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


HEAD = """
import sys
from ray_nodes import started_head

with started_head() as address:
    print(address, flush=True)
    sys.stdin.read()
"""


@contextmanager
def head(**variables: str) -> Iterator[str]:
    """A Ray head in a process of its own, for Ray reads its variables once in a process."""
    loopback = {name: value for name, value in VARIABLES.items() if not name.startswith("RAY_AUTH")}
    tests = str(Path(ray_nodes.__file__).parent)
    started = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        env={**os.environ, **loopback, **variables, "PYTHONPATH": tests},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert started.stdout is not None
    try:
        yield started.stdout.readline().strip()
    finally:
        started.communicate(timeout=60)


@pytest.mark.parametrize("address", ["ray-head", "ray://head:10001", "head:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Ray cluster"):
        check_guarded(address)


def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    with pytest.raises(TraindynoError, match=r"there is no Ray cluster at 127\.0\.0\.1"):
        check_guarded(f"127.0.0.1:{free_port()}")


def test_ray_without_a_token_is_refused_before_anything_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(UsageError, match="without a token"), entered("127.0.0.1:6379"):
        pass


def test_a_machine_without_ray_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "unused")
    for name in ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_USAGE_STATS_ENABLED", "RAY_worker_niceness"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError) as caught, entered(None):
        pass
    assert caught.value.hint == 'pip install "traindyno[ray]"'


@WITH_RAY
@pytest.mark.slow
def test_a_cluster_that_lets_in_whoever_comes_is_refused() -> None:
    with head(RAY_AUTH_MODE="disabled") as address:
        with pytest.raises(UsageError, match="lets in whoever comes") as caught:
            check_guarded(address)
        assert "RAY_AUTH_MODE=token" in str(caught.value.hint)


@WITH_RAY
@pytest.mark.slow
def test_a_cluster_that_asks_for_a_token_takes_its_own_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with head(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="a-token-of-this-test") as address:
        check_guarded(address)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "a-token-of-this-test")
        check_token(address)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "another")
        with pytest.raises(UsageError, match="does not take the token of this machine"):
            check_token(address)


def test_an_address_without_the_executor_is_refused() -> None:
    result = CliRunner().invoke(cli, ["throughput", "--model", "mlp:64", "--address", "head:6379"])
    assert isinstance(result.exception, UsageError)
    assert result.exception.hint == "add --executor ray"


def test_a_study_of_one_machine_is_not_resumed_over_a_cluster(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    with Ledger.open(store) as ledger:
        ledger.create_study("here", "throughput", REQUEST, None)
    with pytest.raises(UsageError, match="this study runs on one machine"):
        resume("here", Context(store=store), address="head:6379")


@WITH_RAY
@pytest.mark.slow
def test_a_ray_of_our_own_leaves_no_file_behind() -> None:
    """In a process of its own, for Ray reads its variables once in a process."""
    once = "from traindyno.runner.ray_access import entered\nwith entered(None) as ray:\n    print(len(ray.nodes()))"
    free = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder:
        variables = {**free, "RAY_TMPDIR": folder}
        ran = subprocess.run([sys.executable, "-c", once], env=variables, capture_output=True, text=True, timeout=120)
        assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr
        assert os.listdir(folder) == []
