"""What is concluded about feeding the model: the loader's settings, and what training waits for."""

from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.loading import Decoder, StageCost


class LoaderSettings(Record, frozen=True):
    num_workers: int
    prefetch_factor: int | None
    pin_memory: bool
    persistent_workers: bool
    decoder: Decoder | None


class WorkerPoint(Record, frozen=True):
    """One setting of the loader: alone (`end_to_end` false) or feeding the model."""

    num_workers: int
    batch_size: int
    end_to_end: bool
    examples_per_second: float
    ci95: Interval
    start_up_seconds: float | None
    steady: bool
    cpus: int | None = None
    median_batch_seconds: float | None = None
    p95_batch_seconds: float | None = None
    longest_batch_seconds: float | None = None
    predicted_examples_per_second: float | None = None
    epoch_seconds: float | None = None


class LoaderEffect(Record, frozen=True):
    """A single A/B: one knob against the recommended settings without it. `ratio` above 1 is faster."""

    knob: str
    value: str
    ratio: float | None
    ci95: Interval | None
    adopted: bool
    skipped_because: str | None = None


class CpuScaling(Record, frozen=True):
    """The loader's rate on only so many CPUs, at the worker count predicted to be best there."""

    cpus: int
    num_workers: int
    examples_per_second: float
    ci95: Interval


class ExpectedRate(Record, frozen=True):
    """What a worker count should give: measured, or predicted with the ends between which it may well lie."""

    num_workers: int
    examples_per_second: float
    ci95: Interval
    measured: bool


class LoaderAnswer(Record, frozen=True):
    data: str
    batch_size: int
    recommended: LoaderSettings
    examples_per_second: float
    ci95: Interval
    start_up_seconds: float
    stages: tuple[StageCost, ...]
    grid: tuple[WorkerPoint, ...]
    trials: int
    usable_cpus: float
    end_to_end: bool
    points: tuple[WorkerPoint, ...] = ()
    effects: tuple[LoaderEffect, ...] = ()
    cpu_scaling: tuple[CpuScaling, ...] = ()
    expected: tuple[ExpectedRate, ...] = ()
    resident_examples_per_second: float | None = None
    share_of_resident: float | None = None
    start_up_seconds_per_epoch: float | None = None
    epoch_examples: int | None = None
    bad_examples: int = 0
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False
    steady: bool = True


class StallRun(Record, frozen=True):
    """One differential run: seconds per step with interval, and what the event simulation had predicted.

    `wait_seconds` is what a step waited for its batch, as far as a CPU tells it; null elsewhere.
    """

    name: str
    source: str
    step_seconds: float
    ci95: Interval
    examples_per_second: float
    predicted_step_seconds: float | None = None
    note: str | None = None
    wait_seconds: float | None = None


class StallCause(Record, frozen=True):
    """`exposed_share` of the step is lost to this cause; `hidden_seconds` per step are spent beside the step."""

    cause: str
    exposed_seconds: float
    exposed_share: float
    ci95: Interval
    hidden_seconds: float | None = None


class Remedy(Record, frozen=True):
    action: str
    predicted_speedup: float
    command: str | None


class StallsAnswer(Record, frozen=True):
    """`slowed_share` of the step is lost beside the loader without waiting; null where that is not told."""

    data: str
    batch_size: int
    settings: LoaderSettings
    runs: dict[str, StallRun]
    causes: tuple[StallCause, ...]
    stages: tuple[StageCost, ...]
    stall_share: float
    stall_share_ci95: Interval
    predicted: dict[str, float]
    bound: str
    remedies: tuple[Remedy, ...]
    slowed_share: float | None = None
    slowed_share_ci95: Interval | None = None
    verdicts: tuple[str, ...] = ()
    bad_examples: int = 0
    seconds: float = 0.0
    simulated: bool = False
