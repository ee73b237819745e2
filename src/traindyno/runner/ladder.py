"""The kill ladder: a stack dump for the log, a polite request, then force."""

import signal
from collections.abc import Callable

from traindyno.runner.protocol import Clock

AFTER_DUMP_SECONDS = 0.3
AFTER_TERM_SECONDS = 0.5


class KillLadder:
    """Sends one signal after another to the trial's group, as time passes. The keeper sweeps up what remains."""

    def __init__(self, send: Callable[[int], None], clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._rungs: list[tuple[float, int]] = []

    def begin(self, *, dump_stack: bool, gently: bool) -> None:
        now = self._clock()
        if dump_stack:
            self._rungs.append((now, signal.SIGUSR1))
            now += AFTER_DUMP_SECONDS
        if gently:
            self._rungs.append((now, signal.SIGTERM))
            now += AFTER_TERM_SECONDS
        self._rungs.append((now, signal.SIGKILL))

    def climb(self) -> None:
        """Send every signal that is due."""
        while self._rungs and self._rungs[0][0] <= self._clock():
            self._send(self._rungs.pop(0)[1])
