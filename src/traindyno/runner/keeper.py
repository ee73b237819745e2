"""The keeper: a small process that starts trials, buries them, and lets no descendant survive them.

It is started once per runner, imports what trials need (never touching CUDA) and forks a fresh process for each
trial. It is the reaper of every orphan below it. One trial runs at a time. It speaks JSON messages over a socket to the
runner; when that socket closes, it ends everything, removes what trials left on disk for each other, and exits.
"""

import argparse
import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from traindyno.core.soaking import END_SIGNAL
from traindyno.machine.descent import children_of, descendants_of
from traindyno.runner import child
from traindyno.runner.linux import adopt_orphans, kill_all

LARGEST_MESSAGE_BYTES = 1 << 20
SWEEP_SECONDS = 1.5


class Keeper:
    """Serves one runner until it hangs up."""

    def __init__(self, connection: socket.socket, spawn: bool) -> None:
        self._connection = connection
        self._spawn = spawn
        self._trial: int | None = None
        self._spawned: subprocess.Popen[bytes] | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._send({"ready": True})
        while True:
            readable, _, _ = select.select([self._connection.fileno(), self._wake_read], [], [])
            if self._wake_read in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                self._bury()
            if self._connection.fileno() in readable and not self._receive():
                break
        self._end_trial()

    def _receive(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._connection, LARGEST_MESSAGE_BYTES, 2)
        except ConnectionResetError:
            # A runner that was killed has hung up without hearing everything.
            return False
        if not data:
            return False
        message: dict[str, Any] = json.loads(data)
        if "start" in message:
            self._start(message["start"], *descriptors)
        elif "signal" in message:
            self._signal(message["signal"])
        return True

    def _start(self, order: dict[str, str], events: int, log: int) -> None:
        self._trial = (self._spawn_trial if self._spawn else self._fork_trial)(order, events, log)
        os.close(events)
        os.close(log)
        self._send({"started": self._trial})

    def _fork_trial(self, order: dict[str, str], events: int, log: int) -> int:
        keeper = os.getpid()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._connection.close()
            child.become_trial(keeper, order["entry"], order["document"], events, log)
        return pid

    def _spawn_trial(self, order: dict[str, str], events: int, log: int) -> int:
        """A whole new interpreter, for code that cannot stand a fork. The specification travels in a pipe."""
        read_end, write_end = os.pipe()
        command = [sys.executable, "-m", "traindyno.runner.child", str(os.getpid()), order["entry"]]
        descriptors = (read_end, events, log)
        # Kept, because a discarded Popen object may reap the process before this keeper can say how it ended.
        self._spawned = subprocess.Popen([*command, *map(str, descriptors)], pass_fds=descriptors)
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            pipe.write(order["document"])
        return self._spawned.pid

    def _signal(self, number: int) -> None:
        """To the trial's whole group, but what only the trial itself understands.

        The trial is not reaped yet, so its number cannot belong to another.
        """
        if self._trial is None:
            return
        if number not in (child.STACK_DUMP_SIGNAL, END_SIGNAL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._trial, number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._trial, number)

    def _bury(self) -> None:
        """Reap what has ended. When it is the trial, end all that it left behind, then say how it ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._trial:
                self._trial = None
                survivors = self._sweep(pid)
                self._send({"exited": pid, "status": status, "survivors": survivors})

    def _sweep(self, group: int) -> list[int]:
        """Kill the trial's group and every descendant of this keeper until none is left or patience ends."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        deadline = time.monotonic() + SWEEP_SECONDS
        while (remaining := descendants_of(os.getpid())) and time.monotonic() < deadline:
            kill_all(remaining)
            self._reap_orphans()
            time.sleep(0.005)
        return remaining

    def _reap_orphans(self) -> None:
        for pid in children_of(os.getpid()):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _end_trial(self) -> None:
        if self._trial is not None:
            group, self._trial = self._trial, None
            kill_all([group])
            self._sweep(group)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(json.dumps(message).encode())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("socket", type=int)
    parser.add_argument("--preload", default="")
    parser.add_argument("--spawn", action="store_true")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--runner", type=int, required=True)
    arguments = parser.parse_args()
    adopt_orphans()
    connection = socket.socket(fileno=arguments.socket)
    for module in filter(None, arguments.preload.split(",")):
        importlib.import_module(module)
    Keeper(connection, arguments.spawn).serve()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    if os.getppid() != arguments.runner:
        # It was killed, and with it one whose compiled code was ours to use: an import may have made that folder anew.
        with contextlib.suppress(OSError, KeyError):
            os.rmdir(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    # Taking the imported modules apart one by one would keep the runner waiting for a second or two.
    os._exit(0)


if __name__ == "__main__":
    main()
