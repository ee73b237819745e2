"""A small file system that only one child process sees, for tests of a full disk and a read-only folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


def run_on_small_disk(folder: Path, script: str, *arguments: str, size: str = "1m") -> str:
    """Run Python code with a fresh file system of that size mounted at the folder; what it printed."""
    if shutil.which("unshare") is None or not _may_mount(folder):
        pytest.skip("mounting a private tmpfs is not permitted here")
    mount_and_run = f'mount -t tmpfs -o size={size} tmpfs "$1" && shift && exec "$@"'
    command = (*NAMESPACE, "sh", "-c", mount_and_run, "sh", str(folder), sys.executable, "-c", script)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _may_mount(folder: Path) -> bool:
    attempt = (*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(folder))
    return subprocess.run(attempt, capture_output=True, check=False, timeout=60).returncode == 0
