"""Who computes when, and what the turns say: the ratio of two settings that shared every moment of the machine."""

import math
import time
from collections.abc import Callable, Sequence

from traindyno.analysis.flow_pace import LEAST_BLOCKS, OVERTIME
from traindyno.analysis.intervals import median, median_interval, relative_half_width
from traindyno.analysis.steady import steady_from
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Budget
from traindyno.worker.pairing.messages import Turn
from traindyno.worker.timing import Clock

DEFAULT_SECONDS = 5.0

Measure = Callable[[], Turn]


class Turns(Record, frozen=True):
    """What baseline and candidate told, turn by turn, and from which turn on each was steady, if it was."""

    taken: tuple[tuple[Turn, Turn], ...]
    steady_from_each: tuple[int | None, int | None]

    @property
    def steady_from(self) -> int | None:
        """From which turn on both were."""
        baseline, candidate = self.steady_from_each
        return None if baseline is None or candidate is None else max(baseline, candidate)

    @property
    def counted(self) -> tuple[tuple[Turn, Turn], ...]:
        """The turns that make up the answer: from steady state on, or the later half if it never came.

        Their number is even, unless there is but one: the median of turns in either order is only fair if there are as
        many of each. Of two both count.
        """
        start = len(self.taken) // 2 if self.steady_from is None else self.steady_from
        odd = (len(self.taken) - start) % 2
        return self.taken[start + odd :] or self.taken[-2:]

    @property
    def step_seconds(self) -> tuple[tuple[float, float], ...]:
        """Seconds per step of both, in each counted turn."""
        return tuple((baseline.step_seconds, candidate.step_seconds) for baseline, candidate in self.counted)

    @property
    def ratio(self) -> tuple[float, Interval]:
        """How much faster the candidate is, with interval: the median turn, on logarithms."""
        ratios = [baseline / candidate for baseline, candidate in self.step_seconds]
        return math.exp(median([math.log(ratio) for ratio in ratios])), median_interval(ratios)

    def precise(self, relative_interval: float, least: int = LEAST_BLOCKS) -> bool:
        """Whether enough turns count, twice as many as were discarded, and the ratio is known that well."""
        if self.steady_from is None or len(self.counted) < max(least, 2 * self.steady_from):
            return False
        return relative_half_width(*self.ratio) <= relative_interval


def take_turns(baseline: Measure, candidate: Measure, budget: Budget, clock: Clock = time.monotonic) -> Turns:
    """Measure block by block until both are steady and the ratio is precise, or the time of both is up.

    The order is A B, B A, A B and so on: what drifts, or lingers after a change of turns, meets both sides alike. The
    ratio must be precise at two looks in a row: at one it may look so by chance.
    """
    seconds = DEFAULT_SECONDS if budget.seconds is None else budget.seconds
    deadline = clock() + seconds
    taken: list[tuple[Turn, Turn]] = []
    while True:
        if len(taken) % 2 == 0:
            of_baseline, of_candidate = baseline(), candidate()
        else:
            of_candidate, of_baseline = candidate(), baseline()
        taken.append((of_baseline, of_candidate))
        turns, late = judged(taken), clock() - deadline
        if _enough(turns, budget.relative_interval) or late >= OVERTIME * seconds:
            return turns
        if late >= 0 and len(taken) >= LEAST_BLOCKS:
            return turns


def _enough(turns: Turns, relative_interval: float) -> bool:
    if not turns.precise(relative_interval):
        return False
    return judged(turns.taken[:-1]).precise(relative_interval, least=LEAST_BLOCKS - 2)


def judged(taken: Sequence[tuple[Turn, Turn]]) -> Turns:
    """The turns so far, and whether they are steady."""
    baseline = steady_from([turn.step_seconds for turn, _ in taken])
    candidate = steady_from([turn.step_seconds for _, turn in taken])
    return Turns(taken=tuple(taken), steady_from_each=(baseline, candidate))
