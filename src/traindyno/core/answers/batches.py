"""What is concluded about batch sizes: what fits, how fast, how long, and two studies side by side."""

from typing import Literal

from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Mode

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
    marks: tuple[str, ...] = ()


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
