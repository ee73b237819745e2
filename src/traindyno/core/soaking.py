"""A long run: what its steps did, and what was sampled beside it. Unknown is null, never zero."""

import signal

from traindyno.core.base import Record

SOAKING = "soaking"
"""The phase of a long run's trial in which it can be asked to end early, by this signal."""
END_SIGNAL = signal.SIGUSR2


class SoakBlock(Record, frozen=True):
    """Some consecutive steps; `end_seconds` counts from the first step of the run."""

    end_seconds: float
    seconds: float
    steps: int
    wait_seconds: float | None = None


class EpochEdge(Record, frozen=True):
    """Where one epoch ended and the next began, and how much longer than usual the step across waited for its batch."""

    at_seconds: float
    pause_seconds: float


class Soak(Record, frozen=True):
    """`began` is the monotonic clock at the first step: samples of the same machine are laid over it."""

    began: float
    blocks: tuple[SoakBlock, ...]
    epochs: tuple[EpochEdge, ...] = ()
    epoch_examples: int | None = None


class Reading(Record, frozen=True):
    """The machine at one moment. `at` is the monotonic clock.

    Throttle counters are nanoseconds since the driver was loaded. CPU shares are of all usable CPUs: the trial's own
    processes and everybody else's. Disk bytes are what the trial's processes have had read from disks so far.
    """

    at: float
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_celsius: int | None = None
    power_watts: float | None = None
    energy_joules: float | None = None
    utilization_percent: int | None = None
    memory_used_bytes: int | None = None
    clock_reasons: tuple[str, ...] | None = None
    throttle_counters: dict[str, int] | None = None
    foreign_gpu_processes: int | None = None
    own_cpu_share: float | None = None
    other_cpu_share: float | None = None
    own_memory_bytes: int | None = None
    disk_read_bytes: int | None = None


class Series(Record, frozen=True):
    """Readings in their order, and what taking them cost: CPU seconds per second of the run."""

    readings: tuple[Reading, ...]
    cost: float | None = None
