"""Virtual time in which made-up processes live beside a real database, which does one thing at a time.

A process is a generator. It yields seconds to wait, or a call to be made, and gets its result. Calls are made in the
order in which they come, each at the virtual moment at which the database is free for it. What a call takes of the
server's CPU keeps those behind it waiting; what it takes of ours is the process's own time, and nobody else's.
"""

import heapq
import itertools
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from traindyno.store.ledger import Ledger

LIKE_THESE, USUAL_SECONDS = 500, 1e-3
"""A call that is not made is charged what one of so many latest took, or, if there was none, so long."""

T = TypeVar("T")
CpuClock = Callable[[], tuple[float, float]]
"""Seconds of a CPU so far: a worker's own, and those of what answers it."""


@dataclass(frozen=True)
class Call:
    """Something asked of the database. Without work it is charged like those before it, and not made."""

    kind: str
    work: Callable[[], Any] | None


Process = Generator[Call | float, Any, T]


@dataclass
class Clock:
    """Virtual time, which the ledger takes for the real one."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class World:
    """Processes and the one database that they ask, event by event."""

    def __init__(self, clock: Clock, cpu_seconds: CpuClock, chance: random.Random) -> None:
        self.clock, self._cpu_seconds, self._chance = clock, cpu_seconds, chance
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._asked: deque[tuple[float, Call, Process[Any]]] = deque()
        self._is_serving = False
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.own_seconds: dict[str, list[float]] = defaultdict(list)
        self.delays: dict[str, list[float]] = defaultdict(list)
        """From the question to the answer."""
        self.busy_by_minute: defaultdict[int, float] = defaultdict(float)
        """Seconds of the database in each minute of virtual time."""

    @property
    def now(self) -> float:
        return self.clock.seconds

    def start(self, process: Process[Any], after_seconds: float = 0.0) -> None:
        self._after(after_seconds, lambda: self._go_on(process, None))

    def run_until(self, is_over: Callable[[], bool]) -> None:
        while self._events and not is_over():
            self.clock.seconds, _, happen = heapq.heappop(self._events)
            happen()

    def _after(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), happen))

    def _go_on(self, process: Process[Any], result: Any) -> None:
        try:
            wanted = process.send(result)
        except StopIteration:
            return
        if isinstance(wanted, Call):
            self._asked.append((self.now, wanted, process))
            if not self._is_serving:
                self._serve()
        else:
            self.start(process, max(0.0, wanted))

    def _serve(self) -> None:
        """Answer who asked first, and then the next."""
        self._is_serving = bool(self._asked)
        if not self._is_serving:
            return
        asked_at, call, process = self._asked.popleft()
        result, its, own = self._charged(call.kind) if call.work is None else self._made(call.work)
        self.busy_by_minute[int(self.now // 60)] += its
        self.seconds[call.kind].append(its)
        self.own_seconds[call.kind].append(own)
        self.delays[call.kind].append(self.now + its + own - asked_at)
        self._after(its, self._serve)
        self._after(its + own, lambda: self._go_on(process, result))

    def _made(self, work: Callable[[], Any]) -> tuple[Any, float, float]:
        own, its = self._cpu_seconds()
        result = work()
        own_after, its_after = self._cpu_seconds()
        return result, its_after - its, own_after - own

    def _charged(self, kind: str) -> tuple[None, float, float]:
        known = len(self.seconds[kind])
        if not known:
            return None, USUAL_SECONDS, 0.0
        like = self._chance.randrange(max(0, known - LIKE_THESE), known)
        return None, self.seconds[kind][like], self.own_seconds[kind][like]


def cpu_clock(ledger: Ledger) -> CpuClock:
    """The CPU time of a server's process that answers us. SQLite has none: all is charged to the file."""
    engine = ledger._database.reader
    if engine.dialect.name == "sqlite":
        return lambda: (0.0, time.process_time())
    with engine.connect() as connection:
        times = Path(f"/proc/{connection.exec_driver_sql('SELECT pg_backend_pid()').scalar()}/schedstat")
    return lambda: (time.process_time(), int(times.read_text().split()[0]) / 1e9)
