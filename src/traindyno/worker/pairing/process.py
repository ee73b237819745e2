"""One arm as its parent sees it: a forked process that computes while it is asked and waits otherwise."""

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import Any, NoReturn, Self, TypeVar

import msgspec

from traindyno.core.records import Failure, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.errors import ArmDiedError, ArmFailedError
from traindyno.worker.pairing.life import become_arm
from traindyno.worker.pairing.messages import Ready, Side, Turn

LOOK_SECONDS = 0.5
LEAVE_SECONDS = 2.0
CHUNK_BYTES = 1 << 16
# The runner sends it to a trial that hangs, to have the stack in the log.
STACK_DUMP_SIGNAL = signal.SIGUSR1

Answer = TypeVar("Answer", Ready, Turn)


class ArmProcess:
    """Starts the arm, passes its progress on, and sees to it that it ends."""

    def __init__(self, side: Side, spec: TrialSpec, channel: Channel, siblings: Sequence[Self] = ()) -> None:
        self.side = side
        self.computing = False
        self._channel = channel
        self._phase = "start"
        self._buffer = bytearray()
        self._status: int | None = None
        commands, self._commands = os.pipe()
        self._reports, reports = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            for arm in (self, *siblings):
                arm.dismiss()
            become_arm(parent, spec, reports, commands)
        os.close(commands)
        os.close(reports)

    def get_ready(self) -> Ready:
        """Have the arm build its workload and warm up."""
        return self._ask(Ready)

    def measure(self) -> Turn:
        """Have the arm compute one block."""
        return self._ask(Turn)

    def _ask(self, kind: type[Answer]) -> Answer:
        """Give the turn, and wait for the answer. An arm that is gone already is noticed there."""
        self.computing = True
        with contextlib.suppress(BrokenPipeError):
            os.write(self._commands, b".")
        while (message := self._message())["type"] != "answer":
            self._pass_on(message)
        self.computing = False
        self._phase = "turns"
        return msgspec.convert(message["answer"], kind)

    def dump_stack(self) -> None:
        """Have the arm write where it stands, if it is its turn; the trial's handler was inherited by the fork."""
        if self.computing and self._status is None:
            os.kill(self._pid, STACK_DUMP_SIGNAL)

    def dismiss(self) -> None:
        """Let the arm go: it leaves when it finds that nobody will ask any more."""
        os.close(self._commands)
        os.close(self._reports)

    def bury(self) -> None:
        """Wait for a dismissed arm, and end it if it stays; it is gone when this returns."""
        deadline = time.monotonic() + LEAVE_SECONDS
        while not self._gone():
            if time.monotonic() >= deadline:
                os.kill(self._pid, signal.SIGKILL)
                _, self._status = os.waitpid(self._pid, 0)
            time.sleep(0.005)

    def _pass_on(self, message: dict[str, Any]) -> None:
        if message["type"] == "phase":
            self._phase = message["name"]
            self._channel.phase(f"{self.side}: {self._phase}")
        elif message["type"] == "step":
            self._channel.step(message["steps"], message["step_seconds"])
        else:
            raise ArmFailedError(_failure_of_arm(self.side, msgspec.convert(message["failure"], Failure)))

    def _message(self) -> dict[str, Any]:
        while (end := self._buffer.find(b"\n")) < 0:
            if not (data := self._read()):
                self._mourn()
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        message: dict[str, Any] = json.loads(line)
        return message

    def _read(self) -> bytes:
        """The next bytes, or none once the arm is gone; processes that it left may hold its end of the pipe open."""
        while True:
            gone = self._gone()
            if select.select([self._reports], [], [], 0 if gone else LOOK_SECONDS)[0]:
                return os.read(self._reports, CHUNK_BYTES)
            if gone:
                return b""

    def _gone(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is not None

    def _mourn(self) -> NoReturn:
        """The arm ended without a word: the phase tells which arm it was, the status how."""
        self._channel.phase(f"{self.side}: {self._phase}")
        if self._status is None:
            _, self._status = os.waitpid(self._pid, 0)
        raise ArmDiedError(self._status)


def _failure_of_arm(side: Side, failure: Failure) -> Failure:
    """The arm's own failure and evidence, with its name."""
    return msgspec.structs.replace(failure, phase=f"{side}: {failure.phase}", details={**failure.details, "arm": side})
