"""What the fresh processes of one way to train found together."""

import math
from collections.abc import Sequence

from traindyno.analysis.intervals import combine_processes, median, t_interval
from traindyno.analysis.scaling.points import Point, point_of
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, TrialRecord
from traindyno.core.scaling import Scaling

_NORMAL_QUANTILE = 1.96


class Way(Record, frozen=True):
    """One way to train that was measured, over all its trials.

    `alone_seconds` is the slowest rank's step without communication, `mean_seconds` that of all on average.
    `exchange_seconds` is null where nothing is sent, or in a way of the user's own.
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
    def hidden_seconds(self) -> float | None:
        return None if self.exchange_seconds is None else max(0.0, self.exchange_seconds - self.exposed_seconds)

    @property
    def waiting_seconds(self) -> float:
        """What ranks wait on average for the slowest of each step."""
        return max(0.0, self.alone_seconds - self.mean_seconds)


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
        load_seconds=_known_median([_load_of_slowest(scaling) for scaling in scalings]),
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
    """A rank by itself waits for nobody."""
    return median([turn.mean for turn in scaling.turns]) if scaling.devices > 1 else scaling.alone_seconds


def _load_of_slowest(scaling: Scaling) -> float | None:
    return max(scaling.ranks, key=lambda rank: rank.step_seconds).load_seconds


def _known_median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
