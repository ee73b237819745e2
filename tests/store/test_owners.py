import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from traindyno.store.owners import describe_owner, is_live, other_machine, owner_here

NOW = 1000.0


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that sleeps until the test ends it."""
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def _owner(pid: int) -> str:
    host = owner_here().rsplit(":", 2)[0]
    return f"{host}:{pid}:{psutil.Process(pid).create_time() - psutil.boot_time():.2f}"


def test_this_process_is_always_the_same_living_owner() -> None:
    assert owner_here() == owner_here()
    assert is_live(owner_here(), NOW + 1, NOW)


def test_an_expired_lease_has_no_living_owner() -> None:
    assert not is_live(owner_here(), NOW, NOW)
    assert not is_live("elsewhere", NOW - 1, NOW)


def test_nobody_is_not_alive() -> None:
    assert not is_live(None, None, NOW)


def test_an_owner_on_another_host_lives_until_its_lease_expires() -> None:
    assert is_live("far-away/1:99999999:1.00", NOW + 1, NOW)
    assert is_live("not an owner of ours", NOW + 1, NOW)


def test_a_killed_process_is_dead_at_once_even_before_its_parent_noticed(
    child: "subprocess.Popen[bytes]",
) -> None:
    owner = _owner(child.pid)
    assert is_live(owner, NOW + 1, NOW)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
    assert not is_live(owner, NOW + 1, NOW)
    child.wait()
    assert not is_live(owner, NOW + 1, NOW)


def test_a_process_id_used_again_is_not_the_same_owner() -> None:
    host, pid, start_seconds = owner_here().rsplit(":", 2)
    assert not is_live(f"{host}:{pid}:{float(start_seconds) - 60:.2f}", NOW + 1, NOW)


def test_an_owner_is_described_by_process_and_host() -> None:
    assert describe_owner("gpu-box/4026531836:1234:5.67") == "process 1234 on gpu-box"
    assert describe_owner("alice") == "alice"
    assert describe_owner("gpu-box/4026531836/b00t:1234:5.67") == "process 1234 on gpu-box"


def test_machines_that_share_a_name_are_told_apart() -> None:
    host, pid, start_seconds = owner_here().rsplit(":", 2)
    name, namespace, machine = host.split("/")
    twin = f"{name}/{namespace}/another:{pid}:{start_seconds}"
    assert other_machine(owner_here()) is None
    assert other_machine(twin) == name
    assert other_machine(f"container/1/{machine}:{pid}:{start_seconds}") is None
    assert other_machine("alice") is None
    gone = f"{name}/{namespace}/another:{pid}:{float(start_seconds) - 60:.2f}"
    assert is_live(gone, NOW + 1, NOW)
