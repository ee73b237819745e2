"""Getting into a Ray cluster: only through token authentication, or into one of our own on loopback."""

import ipaddress
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traindyno.core.errors import TraindynoError, UsageError

NAMESPACE = "traindyno"
REACH_SECONDS = 5.0
PROBE_SECONDS = 60.0
OBJECT_STORE_BYTES = 100 << 20
"""Little travels: specifications and records."""
TOKEN_HINT = (
    "stop it, make a token with `ray get-auth-token --generate`, copy it to every machine, and start Ray there with "
    "RAY_AUTH_MODE=token in its environment"
)
# Ray resolves loopback to the machine's outer address unless it is told that it has no cluster.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@contextmanager
def entered(address: str | None) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at `address` (or RAY_ADDRESS), or to one that ends with the block."""
    address = address or os.environ.get("RAY_ADDRESS")
    _check_mode()
    # Ray reads these once in a process, so they stay as they are until it ends.
    os.environ.update(_own_variables() if address is None else _given_variables(address))
    ray = _import_ray()
    if address is not None:
        check_guarded(address)
        check_token(address)
    folder = _own_folder() if address is None else None
    try:
        _connect(ray, address, folder)
    except BaseException:
        ray.shutdown()
        raise
    try:
        with _told_to_others(ray.get_runtime_context().gcs_address):
            yield ray
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def check_guarded(address: str) -> None:
    """Refuse a cluster that lets in whoever comes: anybody could run code there, also between our trials."""
    host, port = _parsed(address)
    try:
        socket.create_connection((host, port), REACH_SECONDS).close()
    except OSError as error:
        hint = "give the address of its head, which `ray start --head` prints, as HOST:6379"
        raise TraindynoError(f"there is no Ray cluster at {address}: {error.strerror or error}", hint) from None
    without_token = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    stranger = {**_given_variables(address), "RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN_PATH": os.devnull}
    answer = _knocked(address, {**without_token, **stranger})
    if answer.returncode == 0:
        raise UsageError(f"the Ray cluster at {address} lets in whoever comes, without a token", TOKEN_HINT)
    if "AuthenticationError" not in answer.stderr:
        last = (answer.stderr.strip().splitlines() or ["no answer"])[-1]
        raise TraindynoError(
            f"whether the Ray cluster at {address} asks for a token cannot be told: {last}", TOKEN_HINT
        )


def check_token(address: str) -> None:
    """Refuse a token that is not the cluster's: Ray itself would try it for a long time."""
    if "AuthenticationError" in _knocked(address, {**os.environ, **_given_variables(address)}).stderr:
        raise _wrong_token(address)


def _wrong_token(address: str | None) -> UsageError:
    return UsageError(
        f"the Ray cluster at {address} does not take the token of this machine",
        "put the cluster's token into ~/.ray/auth_token, or into the environment variable RAY_AUTH_TOKEN",
    )


def _knocked(address: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """How the cluster answers a process of its own that has these variables."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer in {PROBE_SECONDS:g} s")


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        raise UsageError(f"{address!r} is no address of a Ray cluster", "write HOST:PORT, such as ray-head:6379")
    return host.strip("[]"), int(port)


def _check_mode() -> None:
    mode = os.environ.get("RAY_AUTH_MODE")
    if mode is not None and mode.lower() != "token":
        raise UsageError("RAY_AUTH_MODE says that Ray is to be used without a token", "set it to token, or unset it")
    if mode is None and "ray" in sys.modules:
        raise UsageError(
            "Ray was imported in this process before token authentication was on",
            'set os.environ["RAY_AUTH_MODE"] = "token" before `import ray`',
        )


def _own_variables() -> dict[str, str]:
    """A cluster for this process alone: a fresh token, no news to Ray's makers, and nothing that a trial would feel."""
    return {
        **LOOPBACK,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_memory_monitor_refresh_ms": "0",
    }


def _given_variables(address: str) -> dict[str, str]:
    return {"RAY_AUTH_MODE": "token", **(LOOPBACK if _is_loopback(_parsed(address)[0]) else {})}


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("Ray is not installed", 'pip install "traindyno[ray]"') from None
    return ray


def _own_folder() -> Path:
    """Where a Ray of our own keeps its files, which it never removes by itself; if it does not start, they tell why."""
    return Path(tempfile.mkdtemp(prefix="traindyno-ray-", dir=os.environ.get("RAY_TMPDIR")))


def _connect(ray: Any, address: str | None, folder: Path | None) -> None:
    """Ray takes over SIGTERM, which is ours: it is given back. It gives up by itself what does not start in 30 s."""
    # What Ray says of lost machines would else stand on stdout, which is for the answer alone.
    ray._private.worker._worker_logs_enabled = False
    own: dict[str, Any] = {}
    if folder is not None:
        own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES, "_temp_dir": str(folder)}
    with _kept_handler(signal.SIGTERM):
        try:
            ray.init(
                address=address or "local", namespace=NAMESPACE, log_to_driver=False, configure_logging=False, **own
            )
        except ray.exceptions.AuthenticationError:
            raise _wrong_token(address) from None
        except Exception as error:  # Ray raises all kinds, also that one itself.
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            what = "does not start" if folder is not None else "does not let this process in"
            raise TraindynoError(f"Ray {what}: {first}", _joining_hint(address, folder)) from error


def _joining_hint(address: str | None, folder: Path | None) -> str:
    if folder is not None:
        return f"Ray's own logs, in {folder}, say why"
    return (
        f"this machine must be one of the cluster's: `ray start --address={address}` here, with --num-cpus=0 if "
        "nothing is to be measured on it"
    )


@contextmanager
def _kept_handler(number: signal.Signals) -> Iterator[None]:
    before = signal.getsignal(number)
    try:
        yield
    finally:
        if before is not None and signal.getsignal(number) is not before:
            signal.signal(number, before)


@contextmanager
def _told_to_others(address: str) -> Iterator[None]:
    """Let further processes of this study find the cluster, also one of our own."""
    before = os.environ.get("RAY_ADDRESS")
    os.environ["RAY_ADDRESS"] = address
    try:
        yield
    finally:
        del os.environ["RAY_ADDRESS"]
        if before is not None:
            os.environ["RAY_ADDRESS"] = before
