"""What the application does beside a running trial: sample the device, keep leases alive, pass progress on."""

import time
from collections.abc import Callable

from traindyno.app.context import Context
from traindyno.app.workshop import Workshop
from traindyno.core.events import TrialProgress
from traindyno.core.records import Conditions
from traindyno.machine.gpu import cuda_index
from traindyno.machine.sampler import Sampler
from traindyno.runner.protocol import Watcher

RENEW_SECONDS = 20.0


class StudyWatcher(Watcher):
    """One trial's watcher."""

    def __init__(
        self, workshop: Workshop, context: Context, should_stop: Callable[[], bool], renew: Callable[[], None]
    ) -> None:
        self._context = context
        self._should_stop = should_stop
        self._renew = renew
        self._renewed = time.monotonic()
        self._pids: tuple[int, ...] = ()
        index = None if workshop.runner.simulated else cuda_index(workshop.bench.device)
        self._sampler = Sampler(workshop.reader, index, own_pids=lambda: self._pids)

    def progress(self, progress: TrialProgress) -> None:
        self._context.emit(progress)

    def tick(self, now: float, pid: int | None) -> None:
        self._pids = () if pid is None else (pid,)
        self._sampler.tick(now)
        if now - self._renewed > RENEW_SECONDS:
            self._renewed = now
            self._renew()

    def should_stop(self) -> bool:
        return self._should_stop()

    def conditions(self) -> Conditions:
        return self._sampler.conditions()
