"""Simulated trials that wait for what happens outside, so that whoever brings it about need not be quick.

`python -m cli.pausing interrupted 3 throughput ...`: three trials end at once, and the next when it is interrupted.
`python -m cli.pausing helped 1 round run ...`: the first ends once other processes have ended one of the study's.
"""

import itertools
import sys
import time
from collections.abc import Callable

from traindyno.app.context import DEFAULT_STORE
from traindyno.cli.main import main
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.store.ledger import Ledger

TICK_SECONDS = 0.01
Work = Callable[[SimulatedRunner, Watcher], bool]
Patch = Callable[[type, str, Work], None]


def interrupted_after(trials: int, patch: Patch = setattr) -> None:
    begun = itertools.count()

    def work(self: SimulatedRunner, watcher: Watcher) -> bool:
        return next(begun) < trials or _waited(lambda: False, watcher)

    patch(SimulatedRunner, "_pretend_to_work", work)


def helped_to(trials: int, patch: Patch = setattr) -> None:
    begun = itertools.count()

    def others_have_run() -> bool:
        with Ledger.open(DEFAULT_STORE, create=False) as ledger:
            return any(study.trials >= trials for study in ledger.studies())

    def work(self: SimulatedRunner, watcher: Watcher) -> bool:
        return next(begun) > 0 or _waited(others_have_run, watcher)

    patch(SimulatedRunner, "_pretend_to_work", work)


def _waited(holds: Callable[[], bool], watcher: Watcher) -> bool:
    """Whether it came to that before the trial was to stop."""
    while not watcher.should_stop():
        if holds():
            return True
        watcher.tick(time.monotonic(), None)
        time.sleep(TICK_SECONDS)
    return False


if __name__ == "__main__":
    {"interrupted": interrupted_after, "helped": helped_to}[sys.argv[1]](int(sys.argv[2]))
    main(sys.argv[3:])
