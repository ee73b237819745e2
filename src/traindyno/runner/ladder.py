"""The kill ladder: a stack dump for the log, a polite request, then force."""

import signal
from collections.abc import Callable

from traindyno.runner.protocol import Clock

AFTER_DUMP_SECONDS = 0.3
AFTER_TERM_SECONDS = 0.5
AFTER_KILL_SECONDS = 5.0


class KillLadder:
    """Sends one signal after another to the trial's group, as time passes. The keeper sweeps up what remains."""

    def __init__(self, send: Callable[[int], None], clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._rungs: list[tuple[float, int]] = []
        self._force_used: float | None = None

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
            self._force_used = None if self._rungs else self._clock()

    @property
    def in_vain(self) -> bool:
        """Whether even force has not helped: the process hangs in the kernel, where no signal reaches it."""
        return self._force_used is not None and self._clock() - self._force_used > AFTER_KILL_SECONDS
