"""What is measured and what came of it: workload, settings, trial, measurement, failure."""

import hashlib
from typing import Literal

import msgspec

from traindyno.core.codec import encode
from traindyno.core.outcomes import Outcome

Mode = Literal["train", "infer"]
OptimizerName = Literal["sgd", "adam", "adamw"]
Precision = Literal["fp32", "bf16", "fp16"]
TrialKind = Literal["fit", "speed", "train"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: frozen, named fields, strict when read back."""


class WorkloadSpec(Record, frozen=True):
    """What is trained, named in text. It is built only inside a trial."""

    model: str
    mode: Mode = "train"
    data: str = "synthetic:"
    image_size: int | None = None
    classes: int | None = None
    optimizer: OptimizerName = "sgd"
    conv1_stride: int | None = None
    source_sha256: str | None = None

    @property
    def runs_user_code(self) -> bool:
        """Whether the model comes from a file of the user's rather than from a known name."""
        return is_user_file(self.model)


def is_user_file(model: str) -> bool:
    """`path/to/file.py:function` as against `torchvision:resnet50`."""
    return ".py:" in model or model.endswith(".py")


class Settings(Record, frozen=True):
    """The knobs of one run."""

    batch_size: int
    precision: Precision = "fp32"
    device: str = "cpu"


class Budget(Record, frozen=True):
    """How much one trial may do. Steps for `fit` and `train`, time and precision for `speed`."""

    steps: int | None = None
    seconds: float | None = None
    relative_interval: float = 0.01


class TrialSpec(Record, frozen=True):
    """Everything a trial needs, as one document."""

    kind: TrialKind
    workload: WorkloadSpec
    settings: Settings
    budget: Budget = Budget()
    seed: int = 0
    repeat: int = 0
    evaluate: bool = False
    margin: float = 0.0
    memory_limit_bytes: int | None = None

    @property
    def key(self) -> str:
        """Identity in the ledger: equal keys mean the same measurement."""
        return hashlib.sha256(encode(self).encode()).hexdigest()[:32]


class Block(Record, frozen=True):
    """Some consecutive steps timed together."""

    steps: int
    seconds: float


class Memory(Record, frozen=True):
    """What the trial's steps took, and what there was to take.

    On CUDA the peaks are the caching allocator's and the limit is what it could have had; on a CPU the peak is the
    process's resident memory, the limit is `--memory-limit`, and the CUDA-only fields are null.
    """

    peak_bytes: int
    limit_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    allocator_retries: int | None = None
    device_total_bytes: int | None = None


class Measurement(Record, frozen=True):
    """What one trial found. `step_seconds` is the median block's time per step."""

    batch_size: int
    steps: int
    step_seconds: float
    ci95: tuple[float, float]
    steady: bool
    blocks: tuple[Block, ...]
    memory: Memory
    start_up_seconds: float
    first_step_seconds: float
    warm_up_seconds: float
    warm_up_steps: int
    evaluation_step_seconds: float | None = None
    training_seconds: float | None = None
    loss: float | None = None
    examples_in_data: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def examples_per_second(self) -> float:
        return self.batch_size / self.step_seconds


class Failure(Record, frozen=True):
    """Why a trial has no measurement, with the evidence and one sentence of remedy."""

    outcome: Outcome
    message: str
    remedy: str
    error_type: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    traceback: str | None = None
    log_tail: str | None = None
    phase: str | None = None
    details: dict[str, str] = {}


class Conditions(Record, frozen=True):
    """The state of the device while a trial ran. Unknown is null, never zero."""

    samples: int = 0
    sm_clock_mhz: tuple[int, int] | None = None
    temperature_celsius: tuple[int, int] | None = None
    power_watts: tuple[float, float] | None = None
    throttle_reasons: tuple[str, ...] = ()
    foreign_processes: int | None = None
    load_average: float | None = None


class TrialRecord(Record, frozen=True):
    """One line of a study: a trial and its outcome."""

    spec: TrialSpec
    outcome: Outcome
    seconds: float
    measurement: Measurement | None = None
    failure: Failure | None = None
    conditions: Conditions = Conditions()

    @property
    def batch_size(self) -> int:
        return self.spec.settings.batch_size

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.OK
