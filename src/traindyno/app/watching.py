"""What the application does beside a running trial: sample the device, keep leases alive, pass progress on."""

import time
from collections.abc import Callable

import msgspec

from traindyno.app.context import Context
from traindyno.app.workshop import Workshop
from traindyno.core.events import TrialProgress
from traindyno.core.records import Conditions
from traindyno.core.soaking import Series
from traindyno.machine.descent import descendants_of
from traindyno.machine.gpu import cuda_index
from traindyno.machine.other_work import OtherWork
from traindyno.machine.readings import Readings
from traindyno.machine.sampler import Sampler
from traindyno.runner.protocol import Watcher

RENEW_SECONDS = 20.0
# Beside readings, which tell more, samples would only be a second cost.
SAMPLE_SECONDS = {False: 0.25, True: 5.0}


class StudyWatcher(Watcher):
    """One trial's watcher. With `takes_readings` it also keeps what the machine did, second by second."""

    def __init__(
        self,
        workshop: Workshop,
        context: Context,
        should_stop: Callable[[], bool],
        renew: Callable[[], None],
        takes_readings: bool = False,
    ) -> None:
        self._context = context
        self._should_stop = should_stop
        self._renew = renew
        self._renewed = time.monotonic()
        self._pid: int | None = None
        # Of a trial that runs elsewhere, whoever runs it looks at the machine.
        is_here = not workshop.runner.simulated and workshop.bench.executor == "local"
        index = cuda_index(workshop.bench.device) if is_here else None
        every = SAMPLE_SECONDS[takes_readings]
        self._sampler = Sampler(workshop.reader, index, every, self._own_pids)
        self._readings = Readings(workshop.reader, index) if takes_readings and is_here else None
        self._other_work = OtherWork() if is_here and not takes_readings else None

    def progress(self, progress: TrialProgress) -> None:
        self._sampler.hear(progress)
        if self._readings is not None:
            progress = msgspec.structs.replace(progress, reading=self._readings.latest)
        self._context.emit(progress)

    def tick(self, now: float, pid: int | None) -> None:
        self._pid = pid
        self._sampler.tick(now)
        if self._readings is not None:
            self._readings.tick(now, pid)
        if self._other_work is not None:
            self._other_work.tick(now, pid)
        if now - self._renewed > RENEW_SECONDS:
            self._renewed = now
            self._renew()

    def _own_pids(self) -> tuple[int, ...]:
        """The trial and what it started: the two arms of a pair are processes of their own."""
        return () if self._pid is None else (self._pid, *descendants_of(self._pid))

    def should_stop(self) -> bool:
        return self._should_stop()

    def conditions(self) -> Conditions:
        share = None if self._other_work is None else self._other_work.share()
        return msgspec.structs.replace(self._sampler.conditions(), other_cpu_share=share)

    def series(self) -> Series | None:
        """What was read beside a long trial; null of any other."""
        return None if self._readings is None else self._readings.series()
