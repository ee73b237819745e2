"""The state of one running trial as seen from outside: what it said, and which deadline is next."""

import json
import math
from typing import Any

import msgspec

from traindyno.core.events import TrialProgress
from traindyno.core.learning import LEARNING
from traindyno.core.records import Failure, Measurement
from traindyno.core.rounds import UNTOLD
from traindyno.runner.protocol import Clock, Deadlines, Watcher

SETTING_UP = ("start", "device", "model", "data")


class Watch:
    """Reads the trial's messages and knows when its silence has become too long."""

    def __init__(self, deadlines: Deadlines, watcher: Watcher, clock: Clock) -> None:
        self._deadlines = deadlines
        self._watcher = watcher
        self._clock = clock
        self._buffer = bytearray()
        self._start = self._last_news = clock()
        self._longest_gap = 0.0
        self._steps = 0
        self.phase = "start"
        self.learns = False
        self.said_hello = False
        self.finished = False
        self.measurement: Measurement | None = None
        self.error: Failure | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes from the private descriptor; whole lines are messages."""
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._message(json.loads(line))

    def _message(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "hello":
            self.said_hello = True
        elif kind == "phase":
            self._remember_gap()
            self.phase = message["name"]
            self.learns = self.learns or self.phase == LEARNING
            self._news()
        elif kind == "step":
            self._steps = message["steps"]
            self._remember_gap()
            self._news(message["step_seconds"], message.get("planned_steps"), message.get("accuracy"))
        elif kind == "result":
            self.measurement = msgspec.convert(message["measurement"], Measurement)
        elif kind == "error":
            self.error = msgspec.convert(message["failure"], Failure)
        elif kind == "bye":
            self.finished = True
            self._last_news = self._clock()

    def _remember_gap(self) -> None:
        """How long the steps up to this message took; setting up says nothing about steps."""
        if self._stage not in (*SETTING_UP, UNTOLD):
            self._longest_gap = max(self._longest_gap, self._clock() - self._last_news)

    def _news(
        self, step_seconds: float | None = None, planned_steps: int | None = None, accuracy: float | None = None
    ) -> None:
        self._last_news = self._clock()
        self._watcher.progress(
            TrialProgress(
                phase=self.phase,
                steps=self._steps,
                seconds=self._last_news - self._start,
                step_seconds=step_seconds,
                planned_steps=planned_steps,
                accuracy=accuracy,
            )
        )

    def overdue(self) -> tuple[str, str] | None:
        """`("hang" | "timeout", sentence)` once a deadline has passed."""
        now = self._clock()
        silence, allowed = now - self._last_news, self._allowed_silence()
        if silence > allowed:
            return "hang", f"no progress for {silence:.0f} s in phase '{self.phase}' (allowed: {allowed:.0f} s)"
        if now - self._start > self._deadlines.trial:
            return "timeout", f"the trial took longer than {self._deadlines.trial:.0f} s; {self._steps} steps were done"
        return None

    @property
    def _stage(self) -> str:
        """The phase without the arm of a pair that it may be told of: `baseline: first step` is a first step."""
        return self.phase.rpartition(": ")[2]

    def _allowed_silence(self) -> float:
        if self._stage in SETTING_UP:
            return self._deadlines.start_up
        if self._stage == UNTOLD:
            return math.inf
        if self._stage == "first step":
            return self._deadlines.first_step
        return max(self._deadlines.step, self._deadlines.patience * self._longest_gap)
