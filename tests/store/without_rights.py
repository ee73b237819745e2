"""Code in a process that file modes bind, also where the tests are run by root, whom they do not."""

import functools
import os
import subprocess
import sys

import pytest

DROPPING = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


def run_without_rights(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments to its end, as someone who may write only what its mode allows."""
    prefix = _prefix()
    if prefix is None:
        pytest.skip("root cannot lay down its right to write everything here")
    return subprocess.run(
        [*prefix, sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300
    )


@functools.cache
def _prefix() -> tuple[str, ...] | None:
    if os.geteuid() != 0:
        return ()
    try:
        done = subprocess.run([*DROPPING, "true"], capture_output=True, check=False, timeout=60)
    except OSError:
        return None
    return DROPPING if done.returncode == 0 else None
