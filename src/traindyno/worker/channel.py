"""The private line out of a trial: one JSON document per line on a descriptor that user code never sees."""

import os
import time
from collections.abc import Callable
from typing import Any

from traindyno.core.codec import encode
from traindyno.core.records import Failure, Measurement

PROGRESS_INTERVAL_SECONDS = 0.1


class Channel:
    """Writes messages for the runner. Progress is thinned out, so that reporting it costs nothing measurable."""

    def __init__(self, descriptor: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._last_progress = float("-inf")
        self._steps = 0
        self.phase_name = "start"

    def hello(self) -> None:
        self._send("hello", pid=os.getpid())

    def phase(self, name: str) -> None:
        self.phase_name = name
        self._send("phase", name=name)

    def step(
        self,
        steps: int,
        step_seconds: float | None = None,
        planned_steps: int | None = None,
        accuracy: float | None = None,
    ) -> None:
        """Say that `steps` steps are done, of so many if that is known. Inside a timed block only where that is long.

        `accuracy` is that of the latest evaluation of a run that learns.
        """
        self._steps = steps
        now = self._clock()
        if now - self._last_progress >= PROGRESS_INTERVAL_SECONDS:
            self._last_progress = now
            self._send("step", steps=steps, step_seconds=step_seconds, planned_steps=planned_steps, accuracy=accuracy)

    def alive(self) -> None:
        """Say that the steps after those that were told of go on: they take longer than was thought."""
        self.step(self._steps)

    def result(self, measurement: Measurement) -> None:
        self._send("result", measurement=measurement)

    def error(self, failure: Failure) -> None:
        self._send("error", failure=failure)

    def bye(self) -> None:
        self._send("bye")

    def _send(self, kind: str, **fields: Any) -> None:
        line = (encode({"type": kind, **fields}) + "\n").encode()
        while line:
            line = line[os.write(self._descriptor, line) :]
