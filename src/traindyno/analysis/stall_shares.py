"""What one run takes longer than another, as a share of the step, with its interval.

The runs took turns, so the trials of one round are compared with each other: what slowed the machine for a while slowed
all of them. Each counts with all its steps over all their time, resident ones too: the middle block of one beside the
mean of the other would call every disturbance of the machine a stall. Differences may be negative, so the intervals are
plain t intervals.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.intervals import median, t_interval
from traindyno.analysis.loader_trials import measurement_of
from traindyno.analysis.stall_runs import Runs, measured
from traindyno.analysis.sustained import Rate, sustained
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import TrialRecord

COUNTS_FROM = 0.03
_TOO_WIDE = 0.1
_NORMAL_QUANTILE = 1.96


class Difference(Record, frozen=True):
    """Seconds that a step takes longer, and that as a share of the whole step."""

    seconds: float
    share: float
    ci95: Interval

    @property
    def counts(self) -> bool:
        """Whether it is more than chance and more than 3 % of the step."""
        return self.share > COUNTS_FROM and self.ci95[0] > 0

    @property
    def is_open(self) -> bool:
        """Whether it looks like something, or may be much, although chance is not ruled out."""
        return not self.counts and (self.share > COUNTS_FROM or self.ci95[1] > _TOO_WIDE)


def difference(runs: Runs, longer: str, shorter: str, whole: str) -> Difference | None:
    """`longer` less `shorter`, as a share of `whole`; null if one of them was not measured."""
    rounds = [[rate_of(record) for record in each] for each in rounds_of(runs, (longer, shorter, whole))]
    if not rounds:
        return None
    shares = [(long.step_seconds - short.step_seconds) / step.step_seconds for long, short, step in rounds]
    halves = [math.hypot(half_of(long), half_of(short)) / step.step_seconds for long, short, step in rounds]
    return over_rounds(shares, halves, [step.step_seconds for _, _, step in rounds])


def over_rounds(shares: Sequence[float], halves: Sequence[float], steps: Sequence[float]) -> Difference:
    """The middle of all rounds; `halves` is how far off each reading may be, `steps` what the shares are of."""
    share = median(shares)
    return Difference(seconds=share * median(steps), share=share, ci95=_interval(shares, halves))


def within_the_step(ci95: Interval) -> Interval:
    """The ends that can be: nobody waits less than nothing, or longer than the whole step."""
    low, high = (min(1.0, max(0.0, end)) for end in ci95)
    return low, high


def rounds_of(runs: Runs, names: Sequence[str]) -> list[tuple[TrialRecord, ...]]:
    """The trials of each round that has all of them; else the first of each, as if they were one."""
    by_round = [{record.spec.repeat: record for record in measured(runs, name)} for name in names]
    if not all(by_round):
        return []
    common = set.intersection(*(set(found) for found in by_round))
    if not common:
        return [tuple(next(iter(found.values())) for found in by_round)]
    return [tuple(found[repeat] for found in by_round) for repeat in sorted(common)]


def rate_of(record: TrialRecord) -> Rate:
    return sustained(measurement_of(record))


def half_of(rate: Rate) -> float:
    """How far the interval of its seconds reaches."""
    low, high = rate.ci95
    return max(high - rate.step_seconds, rate.step_seconds - low)


def _interval(shares: Sequence[float], halves: Sequence[float]) -> Interval:
    """Over rounds, but at least one standard error of what the single readings leave open."""
    center = median(shares)
    if len(shares) == 1:
        return center - halves[0], center + halves[0]
    low, high = t_interval(shares)
    least = math.hypot(*halves) / len(halves) / _NORMAL_QUANTILE
    middle = (low + high) / 2
    half = max((high - low) / 2, least)
    return min(center, middle - half), max(center, middle + half)
