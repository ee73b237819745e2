"""Ctrl-C and SIGTERM as a question that is asked between steps, instead of an exception anywhere."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Remembers that the user wants to stop. A second request raises at once."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        return self.requested

    def request(self, number: int = 0, frame: FrameType | None = None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def catching_interrupts() -> Iterator[Interrupts]:
    """Handle SIGINT and SIGTERM while the block runs; outside the main thread signals stay as they are."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    previous: dict[int, Any] = {}
    for wanted in (signal.SIGINT, signal.SIGTERM):
        previous[wanted] = signal.signal(wanted, interrupts.request)
    try:
        yield interrupts
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
