"""The runner's end of the line to its keeper process."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from typing import Any

from traindyno.core.errors import TraindynoError
from traindyno.runner.linux import kill_all, marked_processes

MARKER_NAME = "TRAINDYNO_KEEPER"
LARGEST_MESSAGE_BYTES = 1 << 16


class KeeperLostError(Exception):
    """The keeper ended without being asked."""


class KeeperLink:
    """Starts a keeper, sends it orders, and cleans up after it whatever way it ends.

    The keeper removes the folder `scratch` in the end, so that it goes even if this process is killed.
    """

    def __init__(
        self,
        preload: tuple[str, ...],
        spawn: bool,
        start_seconds: float,
        variables: Mapping[str, str],
        scratch: str,
    ) -> None:
        self._marker = f"{MARKER_NAME}={uuid.uuid4().hex}"
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "traindyno.runner.keeper", str(theirs.fileno())]
        command += ["--scratch", scratch, "--runner", str(os.getpid())]
        command += ["--spawn"] if spawn else ["--preload", ",".join(preload)]
        name, _, value = self._marker.partition("=")
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the keeper
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            start_new_session=True,
            env={**os.environ, **variables, name: value},
        )
        theirs.close()
        self._deadline = time.monotonic() + start_seconds
        self._ready = False

    def ready_within(self, seconds: float) -> bool:
        """Whether the keeper has imported everything, after some waiting; its error output explains a failure."""
        if self._ready:
            return True
        readable, _, _ = select.select([self.socket], [], [], seconds)
        try:
            if readable:
                self._ready = bool(self.receive().get("ready"))
            elif time.monotonic() > self._deadline:
                raise KeeperLostError("no answer")
        except KeeperLostError:
            raise self._start_failure() from None
        return self._ready

    def _start_failure(self) -> TraindynoError:
        self.close()
        self._complaints.seek(0)
        complaint = self._complaints.read().decode(errors="replace").strip()
        last = complaint.splitlines()[-1] if complaint else "it did not answer in time"
        return TraindynoError(f"the trial server could not start: {last}", "run `traindyno doctor`")

    def start(self, entry: str, document: str, events: int, log: int) -> None:
        message = json.dumps({"start": {"entry": entry, "document": document}}).encode()
        try:
            socket.send_fds(self.socket, [message], [events, log])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise KeeperLostError(str(error)) from error

    def signal(self, number: int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.send(json.dumps({"signal": int(number)}).encode())

    def receive(self) -> dict[str, Any]:
        try:
            data = self.socket.recv(LARGEST_MESSAGE_BYTES)
        except ConnectionResetError as error:
            raise KeeperLostError(str(error)) from error
        if not data:
            raise KeeperLostError("the keeper hung up")
        message: dict[str, Any] = json.loads(data)
        return message

    def close(self) -> None:
        """Hang up; the keeper ends its trial and itself, and one still importing is not waited for.

        What outlives that is found by its mark and killed.
        """
        self.socket.close()
        if not self._ready:
            self._process.kill()
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        kill_all(marked_processes(self._marker))
