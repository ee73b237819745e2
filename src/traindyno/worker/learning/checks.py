"""When to look at the loss, which waits for the device, and at whether the run is to end."""

from traindyno.worker.learning.processes import Processes

CHECK_SECONDS = 1.0
TOGETHER_SECONDS = 2.0
GROWTH = 8


class Checks:
    """By the clock where a process is alone; several must look at the same step, so the first tells all which is next.

    That one counts the steps that take about two seconds. It begins at every step and grows slowly: the first steps
    of a run are not like the others.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._apart, self._next = 1, 0

    def due(self, step: int, seconds: float) -> bool:
        """Whether to look after this step, so many seconds after the last time."""
        return seconds >= CHECK_SECONDS if self._processes.alone else step >= self._next

    def made(self, step: int, steps: int, seconds: float) -> None:
        """They have looked after this step; the last so many steps took so many seconds."""
        if not self._processes.alone:
            self._apart = self._processes.from_first(self._wanted(steps, seconds))
            self._next = step + self._apart

    def _wanted(self, steps: int, seconds: float) -> int:
        fitting = steps * TOGETHER_SECONDS / max(seconds, 1e-9)
        return max(1, int(min(fitting, GROWTH * self._apart)))
