"""How a fork becomes an arm, and how the death of an arm becomes that of the trial."""

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
import traceback
from typing import NoReturn

from traindyno.core.records import TrialSpec
from traindyno.worker.pairing.arm import serve
from traindyno.worker.pairing.messages import ArmChannel

_PR_SET_PDEATHSIG = 1
_UNCATCHABLE = (signal.SIGKILL, signal.SIGSTOP)


def become_arm(parent: int, spec: TrialSpec, reports: int, commands: int) -> NoReturn:
    """Turn this fresh fork into an arm. It never returns: a second process must not go on as the trial."""
    code = 1
    try:
        _die_with_parent(parent)
        code = serve(spec, ArmChannel(reports), commands)
    except BaseException:  # noqa: BLE001 - the last frame of the process: what is not written here is lost
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def die_like(status: int) -> NoReturn:
    """End this process as the arm ended, so that the trial's end is judged as if the arm had been all of it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in _UNCATCHABLE:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _die_with_parent(parent: int) -> None:
    """Have the kernel end this process with its parent; where it cannot, the end of the command pipe does."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
