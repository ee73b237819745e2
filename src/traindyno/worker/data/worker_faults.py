"""How loader workers end when they should not, and why."""

import contextlib
import functools
import gc
import multiprocessing
import os
import re
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import queues
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import Outcome

HAND_OVER_FAILED = 71
GRACE_SECONDS = 1.0
KILLED_HINT = "Most often memory ran out: use fewer workers or a smaller batch, and check the system log."
CRASH_HINT = "The data's own code ended it: read the end of the log, then try the same data with 0 workers."

EXITED = re.compile(r"DataLoader worker \(pid \d+\) exited unexpectedly with exit code (?P<code>\d+)")
KILLED = re.compile(r"DataLoader worker \(pid \d+\) is killed by signal: (?P<signal>[^.]+)")

WorkerInit = Callable[[int], None]


class WorkerEndedError(TraindynoError):
    """A loader worker ended in the middle of its work."""

    def __init__(self, message: str, outcome: Outcome, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.outcome = outcome


class HandOverError(TraindynoError):
    """A loader worker made a batch and could not send it."""


class WorkerFaults:
    """A line by which a worker says why it could not hand a batch over.

    A worker sends in a thread of its own. If that fails, Python prints the reason and drops the batch, and the loader
    waits for it for ever. Here such a worker tells the reason and ends, which the loader notices.
    """

    def __init__(self) -> None:
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)

    def watched(self, own: WorkerInit | None) -> WorkerInit:
        """A `worker_init_fn` that sets up the line and then calls the user's own, if there is one."""
        return functools.partial(_begin_worker, self._writer, gc.isenabled(), own)

    def ending_of(self, workers: Sequence[BaseProcess], oom_kills: int, wait_seconds: float) -> TraindynoError | None:
        """Why the first worker that ended did so; null if all are still alive after waiting a little."""
        deadline = time.monotonic() + wait_seconds
        while not (codes := _exit_codes(workers)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.ending(codes[0], oom_kills) if codes else None

    def ending(self, code: int, oom_kills: int) -> TraindynoError:
        """Why a worker ended with this exit code; a signal's is negative."""
        reason = self._told() if code == HAND_OVER_FAILED else None
        return _ending(code, oom_kills) if reason is None else HandOverError(reason)

    def _told(self) -> str | None:
        with contextlib.suppress(EOFError, OSError):
            return str(self._reader.recv()) if self._reader.poll() else None
        return None


def exit_code_in(text: str) -> int | None:
    """The exit code of a worker from what torch says of it; a signal's is negative.

    A worker may end while the others are still being started: then torch's words are all there is.
    """
    if (told := EXITED.match(text)) is not None:
        return int(told["code"])
    told = KILLED.match(text)
    named = {signal.strsignal(each): each for each in signal.Signals}
    return None if told is None or told["signal"] not in named else -int(named[told["signal"]])


def exit_code_behind(error: BaseException | None) -> int | None:
    """The same from an error or what caused it: where torch only lists workers that ended, the cause has the code."""
    while error is not None:
        if (code := exit_code_in(str(error))) is not None:
            return code
        error = error.__cause__
    return None


def _exit_codes(workers: Sequence[BaseProcess]) -> list[int]:
    """Of those that ended otherwise than they should."""
    return [code for worker in workers if (code := worker.exitcode)]


def _ending(code: int, oom_kills: int) -> WorkerEndedError:
    if code > 0:
        return WorkerEndedError(f"a loader worker exited with code {code}", Outcome.CRASH, CRASH_HINT)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    if -code == signal.SIGBUS:
        return WorkerEndedError("a loader worker hit the end of shared memory (SIGBUS)", Outcome.OUT_OF_SHARED_MEMORY)
    if -code == signal.SIGKILL and oom_kills > 0:
        return WorkerEndedError(
            "the kernel killed a loader worker because memory was exhausted", Outcome.OUT_OF_HOST_MEMORY
        )
    if -code in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return WorkerEndedError(f"a loader worker was ended by {name} from outside", Outcome.KILLED, KILLED_HINT)
    return WorkerEndedError(f"a loader worker was ended by {name}", Outcome.CRASH, CRASH_HINT)


def _begin_worker(line: Connection, collects: bool, own: WorkerInit | None, number: int) -> None:
    """The first thing in every worker. What it inherited is not its own to take apart, and never collected."""
    gc.freeze()
    if collects:
        gc.enable()
    queues.Queue._on_queue_feeder_error = staticmethod(  # type: ignore[attr-defined]
        functools.partial(_tell_and_end, line)
    )
    if own is not None:
        own(number)


def _tell_and_end(line: Connection, error: Exception, batch: Any) -> None:
    """The worker ends in any case: nobody else would tell the loader, which waits for the batch."""
    try:
        traceback.print_exception(error)
        line.send(f"a batch could not be handed over by a loader worker: {type(error).__name__}: {error}")
    finally:
        os._exit(HAND_OVER_FAILED)
