"""A long run and what was read beside it, on one clock that starts with the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from traindyno.analysis.soak_drift import Point
from traindyno.core.machine import GPU_IDLE
from traindyno.core.records import TrialRecord
from traindyno.core.soaking import Reading, Series, Soak, SoakBlock

FIRST_SECONDS = 60.0
FIRST_SHARE = 0.2
LONGEST_FIRST_EPOCH = 0.5


@dataclass(frozen=True)
class SoakRun:
    """`batch_size` examples make a step. Readings are those taken during the run."""

    soak: Soak
    readings: tuple[Reading, ...]
    batch_size: int

    @classmethod
    def of(cls, record: TrialRecord) -> "SoakRun":
        assert record.measurement is not None
        soak = record.measurement.soak
        assert soak is not None, "a soak trial tells of its run"
        return cls.laid_over(soak, record.series, record.batch_size)

    @classmethod
    def laid_over(cls, soak: Soak, series: Series | None, batch_size: int) -> "SoakRun":
        """The run with those readings that were taken while it lasted."""
        taken = () if series is None else series.readings
        end = soak.began + soak.blocks[-1].end_seconds
        return cls(soak, tuple(reading for reading in taken if soak.began <= reading.at <= end), batch_size)

    @property
    def seconds(self) -> float:
        return self.soak.blocks[-1].end_seconds

    @property
    def examples(self) -> int:
        return self.batch_size * sum(block.steps for block in self.soak.blocks)

    @property
    def examples_per_second(self) -> float:
        """Over the whole run, pauses and all."""
        return self.examples / self.seconds

    @cached_property
    def plain_blocks(self) -> tuple[SoakBlock, ...]:
        """All blocks but the steps across the edges of epochs."""
        edges = {round(edge.at_seconds, 6) for edge in self.soak.epochs}
        return tuple(block for block in self.soak.blocks if round(block.end_seconds - block.seconds, 6) not in edges)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Seconds and examples per second, at the middle of each plain block."""
        return tuple(
            (block.end_seconds - block.seconds / 2, self.batch_size * block.steps / block.seconds)
            for block in self.plain_blocks
        )

    @property
    def settled_from(self) -> float:
        """From when on a drift is looked for: behind the first minute, or fifth of a short run, and the first epoch.

        A first epoch of more than half the run cannot be waited for.
        """
        first = self.soak.epochs[0].at_seconds if self.soak.epochs else 0.0
        begun = min(FIRST_SECONDS, FIRST_SHARE * self.seconds)
        return max(begun, first) if first <= LONGEST_FIRST_EPOCH * self.seconds else begun

    @property
    def settled_points(self) -> tuple[Point, ...]:
        start = self.settled_from
        return tuple(point for point in self.points if point[0] >= start)

    @cached_property
    def busy_readings(self) -> tuple[Reading, ...]:
        """Those taken while the GPU computed."""
        return tuple(reading for reading in self.readings if _busy(reading))

    def seconds_of(self, reading: Reading) -> float:
        """When in the run a reading was taken."""
        return reading.at - self.soak.began


def _busy(reading: Reading) -> bool:
    return reading.utilization_percent != 0 and GPU_IDLE not in (reading.clock_reasons or ())


def known_values(readings: Sequence[Reading], name: str) -> list[float]:
    """One quantity of all readings that know it."""
    return [value for reading in readings if (value := getattr(reading, name)) is not None]


RANGES = (
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_celsius",
    "power_watts",
    "utilization_percent",
    "memory_used_bytes",
    "own_cpu_share",
    "other_cpu_share",
    "own_memory_bytes",
)


def ranges_of(run: SoakRun) -> dict[str, tuple[float, float]]:
    """Least and most of everything that was read; what nobody told is left out. Clocks count while the GPU was busy."""
    found = {}
    for name in RANGES:
        busy = name in ("sm_clock_mhz", "memory_clock_mhz", "power_watts")
        values = known_values(run.busy_readings if busy else run.readings, name)
        if values:
            found[name] = (float(min(values)), float(max(values)))
    if (read := disk_bytes_per_second(run)) is not None:
        found["disk_read_bytes_per_second"] = read
    return found


def disk_bytes_per_second(run: SoakRun) -> tuple[float, float] | None:
    """Least and most read from disks per second, from one reading to the next."""
    pairs = [(reading.at, reading.disk_read_bytes) for reading in run.readings if reading.disk_read_bytes is not None]
    rates = [max(0, b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(pairs) if b[0] > a[0]]
    return (min(rates), max(rates)) if rates else None
