"""What studies conclude. The fields are part of the public contract: see docs/reference/answers.md."""

from typing import Any, Literal

from traindyno.core.base import Record
from traindyno.core.loading import Decoder, StageCost
from traindyno.core.records import Mode

Interval = tuple[float, float]
Quantity = Literal["examples_per_second", "training_seconds", "batch_size"]


class MemoryModel(Record, frozen=True):
    """Peak memory = intercept + slope × batch; `relative_error` is the worst miss at a measured size."""

    intercept_bytes: float
    slope_bytes: float
    relative_error: float


class MaxBatchAnswer(Record, frozen=True):
    model: str
    mode: Mode
    max_batch: int | None
    safe_batch: int | None
    no_retry_batch: int | None
    first_failed_batch: int | None
    probes: int
    out_of_memory_probes: int
    memory_model: MemoryModel | None
    seconds: float
    margin: float
    tolerance: float
    memory_limit_bytes: int | None = None
    limited_by: str | None = None
    micro_batch: int | None = None
    accumulation_steps: int | None = None
    effective_batch: int | None = None
    verdicts: tuple[str, ...] = ()
    simulated: bool = False


class CurvePoint(Record, frozen=True):
    batch_size: int
    examples_per_second: float
    ci95: Interval
    step_seconds: float
    peak_memory_bytes: int
    steady: bool
    processes: int
    memory_share: float | None = None
    evaluation_step_seconds: float | None = None
    marks: tuple[str, ...] = ()


class StepModel(Record, frozen=True):
    """Step time = alpha + beta × batch. For display and sanity, never the selector."""

    alpha_seconds: float
    beta_seconds: float
    relative_error: float


class ThroughputAnswer(Record, frozen=True):
    model: str
    mode: Mode
    curve: tuple[CurvePoint, ...]
    best_batch: int
    recommended_batch: int
    fastest_batch: int
    largest_batch: int
    chosen_batch: int
    choose: str
    saturated_from: int | None
    verdicts: tuple[str, ...]
    out_of_memory_from: int | None = None
    predicted_memory_limit_batch: int | None = None
    memory_limit_bytes: int | None = None
    memory_model: MemoryModel | None = None
    step_model: StepModel | None = None
    drift_percent: float | None = None
    drift_ci95: Interval | None = None
    start_up_seconds: float | None = None
    seconds: float = 0.0
    simulated: bool = False


class PlanRow(Record, frozen=True):
    batch_size: int
    steps: int
    training_seconds: float
    ci95: Interval
    cost: float | None
    step_seconds: float
    start_up_seconds: float
    evaluation_seconds: float


class Validation(Record, frozen=True):
    """A prediction beside what was then measured, over the same number of steps."""

    batch_size: int
    steps: int
    predicted_seconds: float
    measured_seconds: float
    error_percent: float


class PlanAnswer(Record, frozen=True):
    examples: int
    epochs: float
    rows: tuple[PlanRow, ...]
    fastest: int
    verdicts: tuple[str, ...]
    from_study: str | None = None
    validation: Validation | None = None
    seconds: float = 0.0
    simulated: bool = False


class CompareRow(Record, frozen=True):
    key: str
    a: float | None
    b: float | None
    ratio: float | None
    ci95: Interval | None
    verdict: str


class CompareAnswer(Record, frozen=True):
    """`quantity` is what the rows' figures are."""

    a: str
    b: str
    rows: tuple[CompareRow, ...]
    unlike: tuple[str, ...]
    verdicts: tuple[str, ...] = ()
    quantity: Quantity = "examples_per_second"
    simulated: bool = False


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


class StallRun(Record, frozen=True):
    """One differential run: seconds per step with interval, and what the event simulation had predicted."""

    name: str
    source: str
    step_seconds: float
    ci95: Interval
    examples_per_second: float
    predicted_step_seconds: float | None = None
    note: str | None = None


class StallCause(Record, frozen=True):
    """`exposed_share` of the step is waited for this cause; `hidden_seconds` per step are spent beside the step."""

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
    verdicts: tuple[str, ...] = ()
    bad_examples: int = 0
    seconds: float = 0.0
    simulated: bool = False


class PhaseCost(Record, frozen=True):
    """One phase of the step: seconds with interval over processes, and its share of the step without instruments."""

    seconds: float
    ci95: Interval
    share: float
    seconds_per_example: float
    host_seconds: float


class TransferCost(Record, frozen=True):
    pinned: bool
    seconds: float
    ci95: Interval
    seconds_per_example: float
    bytes_per_second: float


class Utilization(Record, frozen=True):
    """Achieved shares of what this device was measured to do; null with a reason where it cannot be counted."""

    flops_per_second: float | None = None
    flops_per_second_ceiling: float | None = None
    flops_share: float | None = None
    bytes_per_second: float | None = None
    bytes_per_second_ceiling: float | None = None
    bytes_share: float | None = None
    unknown_because: str | None = None


class AnatomySize(Record, frozen=True):
    """The step at one batch size."""

    batch_size: int
    step_seconds: float
    ci95: Interval
    phases: dict[str, PhaseCost]
    transfers: tuple[TransferCost, ...]
    idle_share: float | None
    host_share: float | None
    bound: str
    utilization: Utilization
    examples_per_second: float


class AnatomyAnswer(Record, frozen=True):
    """`phases` and what follows are those of `batch_size`; `sizes` has every batch size measured.

    `host_wait_seconds` is what the host waited for a batch, `stall_seconds` what the device stood still for it.
    """

    model: str
    mode: Mode
    batch_size: int
    phases: dict[str, PhaseCost]
    step_seconds: float
    ci95: Interval
    coverage: float
    instrument_cost: float
    instrument_cost_ci95: Interval
    bound: str
    utilization: Utilization
    host_wait_seconds: float
    stall_seconds: float
    idle_share: float | None
    host_share: float | None
    sizes: tuple[AnatomySize, ...]
    trace: str | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class SwitchEffect(Record, frozen=True):
    """One switch alone against the interleaved baseline. `ratio` above 1 is faster, `memory_ratio` below 1 is less.

    `warm_up_seconds` is what starting takes longer than the baseline's (compiling for the first time), and
    `warm_up_seconds_again` the same once the compiler's results are on disk; `pays_back_after_steps` is from when on
    the whole run is shorter. `loss_agrees` is null where it was not looked at, for the reason in `loss_note`.
    `with_copies` is true where both arms moved a batch to the device in every step: such a switch is no part of the
    answer's `speedup`.
    """

    switch: str
    value: str
    ratio: float | None = None
    ci95: Interval | None = None
    memory_ratio: float | None = None
    loss_agrees: bool | None = None
    loss_difference: float | None = None
    loss_note: str | None = None
    warm_up_seconds: float | None = None
    warm_up_seconds_again: float | None = None
    pays_back_after_steps: int | None = None
    adopted: bool = False
    skipped_because: str | None = None
    failed_because: str | None = None
    with_copies: bool = False


class Combination(Record, frozen=True):
    """One step of the greedy combination: what was tried on top of what was held, and what came of it."""

    tried: str
    settings: dict[str, Any]
    ratio: float
    ci95: Interval
    kept: bool


class SwitchesAnswer(Record, frozen=True):
    """`recommended` are the settings that differ from the baseline's; `speedup` was measured against the baseline.

    `loss_spread` is how far the baseline's own losses lie apart over seeds.
    """

    model: str
    mode: Mode
    batch_size: int
    baseline: dict[str, Any]
    effects: tuple[SwitchEffect, ...]
    combinations: tuple[Combination, ...]
    recommended: dict[str, Any]
    speedup: float
    speedup_ci95: Interval
    memory_ratio: float | None
    baseline_examples_per_second: float
    examples_per_second: float
    loss_spread: float | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class Throttle(Record, frozen=True):
    """What held the clocks: the share of the run each reason was seen, and the counters' seconds where there are any.

    `known` is false where the driver does not tell.
    """

    known: bool
    thermal: bool | None = None
    power_cap: bool | None = None
    shares: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it
    seconds: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it


class SoakAnswer(Record, frozen=True):
    """`drift_percent_per_minute` is of throughput after the first epoch or minute; below zero it grew slower.

    `ends_ratio` is the rate of the last fifth of that by the rate of the first, where it changed along no line.
    """

    model: str
    mode: Mode
    batch_size: int
    examples_per_second: float
    drift_percent_per_minute: float | None
    ci95: Interval | None
    throttle: Throttle
    energy_joules_per_example: float | None
    energy_joules_per_epoch: float | None
    cost_per_epoch: float | None
    first_epoch_ratio: float | None
    epoch_pause_seconds: float | None
    epochs: int
    run_seconds: float
    sampling_cost: float | None
    ends_ratio: float | None = None
    ranges: dict[str, Interval] = {}  # noqa: RUF012 - msgspec copies it
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


Answer = (
    MaxBatchAnswer
    | ThroughputAnswer
    | PlanAnswer
    | CompareAnswer
    | LoaderAnswer
    | StallsAnswer
    | AnatomyAnswer
    | SwitchesAnswer
    | SoakAnswer
)


class Rehearsal(Record, frozen=True):
    """What a measuring command would do, for `--dry-run`."""

    command: str
    device: str
    expected_trials: int
    at_most_seconds: float
    lines: tuple[str, ...]


class Document(Record, frozen=True):
    """Everything a study has to say, as exported by `--json`."""

    command: str
    study: str | None
    answer: Any
    trials: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    machine: dict[str, Any] | None = None
    request: dict[str, Any] | None = None
    created: str | None = None
    state: str | None = None
    hint: str | None = None
    report: str | None = None
    interrupted: bool = False
    schema: str = "traindyno/1"
