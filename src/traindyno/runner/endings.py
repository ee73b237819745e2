"""How a trial ended, from what its process left: messages, exit status, log, and what was done to it."""

import os
import signal
from typing import Literal

from traindyno.core.base import Record
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Measurement

KillReason = Literal["hang", "timeout", "memory", "interrupted"]
START_FAILED_CODE = 70


class Ending(Record, frozen=True):
    """The evidence. `status` is the raw wait status, null when the process could not be waited for.

    A trial that `ended_early` was asked to, and has measured what it could until then.
    """

    status: int | None
    phase: str
    log_tail: str = ""
    said_hello: bool = False
    measurement: Measurement | None = None
    error: Failure | None = None
    killed_for: KillReason | None = None
    kill_detail: str = ""
    ended_early: bool = False
    kernel_oom_kills: int = 0
    keeper_lost: bool = False
    survivors: tuple[int, ...] = ()


def classify(ending: Ending) -> Failure | None:
    """The failure, or null when the trial delivered its whole measurement."""
    if ending.measurement is not None and not ending.ended_early:
        return None
    if ending.killed_for != "interrupted" and not ending.ended_early and ending.error is not None:
        return _with_evidence(ending.error, ending)
    outcome, message = _outcome(ending)
    failure = Failure(outcome=outcome, message=message, remedy=REMEDIES[outcome], phase=ending.phase)
    return _with_evidence(failure, ending)


def _outcome(ending: Ending) -> tuple[Outcome, str]:
    if ending.ended_early and ending.killed_for is None:
        return Outcome.INTERRUPTED, "ended early on request"
    if ending.killed_for is not None:
        return _own_kill(ending.killed_for), ending.kill_detail
    if ending.keeper_lost or ending.status is None:
        return Outcome.INFRASTRUCTURE, "the process that starts trials was lost"
    if os.WIFSIGNALED(ending.status):
        return _by_signal(os.WTERMSIG(ending.status), ending)
    code = os.waitstatus_to_exitcode(ending.status)
    if not ending.said_hello and code == START_FAILED_CODE:
        return Outcome.INFRASTRUCTURE, "the trial process could not start its work"
    return Outcome.CRASH, f"the process exited with code {code} in phase '{ending.phase}' without a result"


def _own_kill(reason: KillReason) -> Outcome:
    return {
        "hang": Outcome.HANG,
        "timeout": Outcome.TIMEOUT,
        "memory": Outcome.OUT_OF_HOST_MEMORY,
        "interrupted": Outcome.INTERRUPTED,
    }[reason]


def _by_signal(number: int, ending: Ending) -> tuple[Outcome, str]:
    name = signal_name(number)
    if number == signal.SIGKILL and ending.kernel_oom_kills > 0:
        return Outcome.OUT_OF_HOST_MEMORY, "the kernel killed the process because memory was exhausted"
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return Outcome.KILLED, f"the process was ended by {name} from outside"
    if number == signal.SIGBUS and _mentions(ending, "shared memory", "/dev/shm", "No space left"):
        return Outcome.OUT_OF_SHARED_MEMORY, "the process hit the end of shared memory (SIGBUS)"
    if number == signal.SIGABRT and _mentions(ending, "bad_alloc", "Cannot allocate memory"):
        return Outcome.OUT_OF_HOST_MEMORY, "native code could not allocate memory and aborted"
    if number == signal.SIGABRT and _mentions(ending, "CUDA error", "cudaError"):
        return Outcome.CUDA_FAULT, "native code aborted after a CUDA error"
    return Outcome.CRASH, f"the process was ended by {name} in phase '{ending.phase}'"


def signal_name(number: int) -> str:
    """`SIGSEGV`; real-time signals have no name of their own."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _mentions(ending: Ending, *texts: str) -> bool:
    return any(text in ending.log_tail for text in texts)


def _with_evidence(failure: Failure, ending: Ending) -> Failure:
    code, name = None, None
    if ending.status is not None:
        if os.WIFSIGNALED(ending.status):
            name = signal_name(os.WTERMSIG(ending.status))
        else:
            code = os.waitstatus_to_exitcode(ending.status)
    details = dict(failure.details)
    if ending.survivors:
        details["survivors"] = ", ".join(map(str, ending.survivors))
    fields = {name: getattr(failure, name) for name in failure.__struct_fields__}
    fields.update(exit_code=code, signal=name, log_tail=ending.log_tail or None, details=details)
    return Failure(**fields)
