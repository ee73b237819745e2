"""A long trial that is asked to end early, and still tells what it has measured."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from traindyno.core.soaking import END_SIGNAL


@contextmanager
def ending_on_request() -> Iterator[Callable[[], bool]]:
    """Whether somebody has asked to end; outside the main thread nobody can.

    A request that comes later than that finds the process with its results to tell, and must not end it.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    signal.signal(END_SIGNAL, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        signal.signal(END_SIGNAL, signal.SIG_IGN)
