"""What is measured and what came of it: workload, settings, trial, measurement, failure."""

import hashlib
from typing import Literal

import msgspec

from traindyno.core.base import Record
from traindyno.core.codec import encode
from traindyno.core.loading import Decoder, Feed, Loading
from traindyno.core.outcomes import Outcome

Mode = Literal["train", "infer"]
OptimizerName = Literal["sgd", "adam", "adamw"]
Precision = Literal["fp32", "bf16", "fp16"]
TrialKind = Literal["fit", "speed", "train", "probe", "load", "feed"]


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
    skip_bad: bool = False

    @property
    def runs_user_code(self) -> bool:
        """Whether the model comes from a file of the user's rather than from a known name."""
        return is_user_file(self.model)


def is_user_file(model: str) -> bool:
    """`path/to/file.py:function` as against `torchvision:resnet50`."""
    return ".py:" in model or model.endswith(".py")


class Settings(Record, frozen=True):
    """The knobs of one run. Those of the loader have torch's own defaults."""

    batch_size: int
    precision: Precision = "fp32"
    device: str = "cpu"
    num_workers: int = 0
    prefetch_factor: int = 2
    pin_memory: bool = False
    persistent_workers: bool = False
    decoder: Decoder = "pil"


_LOADER_FIELDS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "decoder")


class Budget(Record, frozen=True):
    """How much one trial may do. Steps for `fit` and `train`, time and precision for the others."""

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
    feed: Feed = Feed(supply="resident")

    @property
    def key(self) -> str:
        """Identity in the ledger: equal keys mean the same measurement.

        What was added to these records later does not count while it has its default: studies begun before go on.
        """
        document = msgspec.to_builtins(self)
        for part, default, fields in (
            (document, TrialSpec(kind=self.kind, workload=self.workload, settings=self.settings), ("feed",)),
            (document["workload"], WorkloadSpec(model=self.workload.model), ("skip_bad",)),
            (document["settings"], Settings(batch_size=self.settings.batch_size), _LOADER_FIELDS),
        ):
            for field in fields:
                if part[field] == msgspec.to_builtins(getattr(default, field)):
                    del part[field]
        return hashlib.sha256(encode(document).encode()).hexdigest()[:32]


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
    loading: Loading | None = None
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
    details: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it


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
