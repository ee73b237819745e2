"""What the fresh processes of one way to train found together."""

import math
from collections.abc import Sequence
from statistics import fmean

from traindyno.analysis.intervals import combine_processes, median, t_interval
from traindyno.analysis.scaling.points import Point, point_of
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, TrialRecord
from traindyno.core.scaling import RankReading, Scaling

_NORMAL_QUANTILE = 1.96


class Way(Record, frozen=True):
    """One way to train that was measured, over all its trials.

    `alone_seconds` is the slowest rank's step without communication, `mean_seconds` that of all on average.
    `exchange_seconds` is null where nothing is sent, or in a way of the user's own. `load_seconds` is what the slowest
    rank waits for a batch in training, `load_hidden_seconds` what it would wait longer without communication, and
    `mean_load_hidden_seconds` what all would on average.
    """

    point: Point
    step_seconds: float
    ci95: Interval
    alone_seconds: float
    mean_seconds: float
    exposed_seconds: float
    communication_share: float
    communication_share_ci95: Interval
    exchange_seconds: float | None
    load_seconds: float | None
    load_hidden_seconds: float | None
    mean_load_hidden_seconds: float | None
    peak_memory_bytes: int
    steady: bool
    scalings: tuple[Scaling, ...]

    @property
    def examples_per_second(self) -> float:
        return self.point.batch_size / self.step_seconds

    @property
    def rate_ci95(self) -> Interval:
        """That of the step turned upside down."""
        low, high = self.ci95
        return self.point.batch_size / high, (self.point.batch_size / low if low > 0 else float("inf"))

    @property
    def exposed_ci95(self) -> Interval:
        """What communication adds to the step, which its share tells of several processes."""
        low, high = self.communication_share_ci95
        return low * self.step_seconds, high * self.step_seconds

    @property
    def hidden_seconds(self) -> float | None:
        """What of the exchange goes on beside computing: not what it adds, nor what goes on beside loading."""
        if self.exchange_seconds is None:
            return None
        return max(0.0, self.exchange_seconds - self.exposed_seconds - (self.load_hidden_seconds or 0.0))

    @property
    def waiting_seconds(self) -> float:
        """What ranks wait on average for the slowest of each step; not for batches that come while all communicate."""
        in_time = (self.load_hidden_seconds or 0.0) - (self.mean_load_hidden_seconds or 0.0)
        return max(0.0, self.alone_seconds - self.mean_seconds - max(0.0, in_time))


def read_ways(records: Sequence[TrialRecord]) -> tuple[Way, ...]:
    """Every way of which at least one trial came to its end, by devices and batch."""
    found: dict[Point, list[tuple[Measurement, Scaling]]] = {}
    for record in records:
        if record.spec.kind == "scale" and record.measurement is not None and record.measurement.scaling is not None:
            found.setdefault(point_of(record.spec), []).append((record.measurement, record.measurement.scaling))
    return tuple(_way(point, trials) for point, trials in sorted(found.items()))


def read_failures(records: Sequence[TrialRecord], ways: Sequence[Way]) -> dict[Point, TrialRecord]:
    """Points of which no trial came to its end, with the first that failed."""
    measured = {way.point for way in ways}
    found: dict[Point, TrialRecord] = {}
    for record in records:
        ended = record.spec.kind == "scale" and record.outcome is not Outcome.INTERRUPTED
        if ended and record.failure is not None and point_of(record.spec) not in measured:
            found.setdefault(point_of(record.spec), record)
    return found


def _way(point: Point, trials: Sequence[tuple[Measurement, Scaling]]) -> Way:
    measurements, scalings = [trial[0] for trial in trials], [trial[1] for trial in trials]
    step_seconds, interval = combine_processes(
        [found.step_seconds for found in measurements], [found.ci95 for found in measurements]
    )
    share, share_interval = _communication_share(measurements, scalings)
    return Way(
        point=point,
        step_seconds=step_seconds,
        ci95=interval,
        alone_seconds=median([scaling.alone_seconds for scaling in scalings]),
        mean_seconds=median([_mean_seconds(scaling) for scaling in scalings]),
        exposed_seconds=max(0.0, median([scaling.exposed_seconds for scaling in scalings])),
        communication_share=share,
        communication_share_ci95=share_interval,
        exchange_seconds=_known_median([scaling.exchange_seconds for scaling in scalings]),
        load_seconds=_known_median([_slowest(scaling).together_load_seconds for scaling in scalings]),
        load_hidden_seconds=_known_median([_load_hidden(_slowest(scaling)) for scaling in scalings]),
        mean_load_hidden_seconds=_known_median([_mean_load_hidden(scaling) for scaling in scalings]),
        peak_memory_bytes=max(found.memory.peak_bytes for found in measurements),
        steady=all(found.steady for found in measurements),
        scalings=tuple(scalings),
    )


def _communication_share(measurements: Sequence[Measurement], scalings: Sequence[Scaling]) -> tuple[float, Interval]:
    """What communication adds, as a share of the step. It may be nothing, so errors are added, not multiplied."""
    pairs = list(zip(measurements, scalings, strict=True))
    shares = [scaling.exposed_seconds / found.step_seconds for found, scaling in pairs]
    within = [(s.exposed_ci95[0] / found.step_seconds, s.exposed_ci95[1] / found.step_seconds) for found, s in pairs]
    value, (low, high) = median(shares), within[0]
    if len(shares) > 1:
        first, last = t_interval(shares)
        center = (first + last) / 2
        # Chance may bring processes closer together than any of them is precise.
        halves = [(end - start) / 2 for start, end in within if math.isfinite(end - start)]
        half = max(last - center, math.hypot(*halves) / len(within) / _NORMAL_QUANTILE)
        low, high = min(value, center - half), max(value, center + half)
    return max(0.0, value), (max(0.0, low), min(1.0, max(0.0, high)))


def _mean_seconds(scaling: Scaling) -> float:
    """A rank by itself waits for nobody. Where loaders feed the ranks, all turns count, as for `alone_seconds`."""
    if scaling.devices == 1:
        return scaling.alone_seconds
    means = [turn.mean for turn in scaling.turns]
    return median(means) if _slowest(scaling).load_seconds is None else fmean(means)


def _slowest(scaling: Scaling) -> RankReading:
    return max(scaling.ranks, key=lambda rank: rank.step_seconds)


def _load_hidden(rank: RankReading) -> float | None:
    """What the rank's loader does while gradients are sent, and would be waited for otherwise."""
    alone, together = rank.load_seconds, rank.together_load_seconds
    return None if alone is None or together is None else max(0.0, alone - together)


def _mean_load_hidden(scaling: Scaling) -> float | None:
    known = [hidden for rank in scaling.ranks if (hidden := _load_hidden(rank)) is not None]
    return fmean(known) if known else None


def _known_median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
