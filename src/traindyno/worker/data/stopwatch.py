"""How long each call of a function took."""

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Clock = Callable[[], float]
P = ParamSpec("P")
T = TypeVar("T")


class Stopwatch:
    """Times calls by one clock: the wall's, or the CPU's of a thread."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock = clock
        self._readings: list[float] = []
        self._before = 0.0

    def around(self, function: Callable[P, T]) -> Callable[P, T]:
        """The same function, timed."""
        clock = self._clock

        def timed(*arguments: P.args, **keywords: P.kwargs) -> T:
            start = clock()
            result = function(*arguments, **keywords)
            self._readings.append(clock() - start + self._before)
            self._before = 0.0
            return result

        return timed

    def beforehand(self, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call the function; what that takes is part of the next timed call."""
        start = self._clock()
        result = function(*arguments, **keywords)
        self._before += self._clock() - start
        return result

    def take(self) -> tuple[float, ...]:
        """The readings since the last time they were taken."""
        readings, self._readings = tuple(self._readings), []
        return readings
