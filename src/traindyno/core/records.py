"""What is measured and what came of it: workload, settings, trial, measurement, failure."""

import hashlib
from typing import Literal

import msgspec

from traindyno.core.anatomy import Anatomy
from traindyno.core.base import Record
from traindyno.core.codec import encode
from traindyno.core.learning import Learning, Noise, NoisePlan, Recipe
from traindyno.core.loading import Decoder, Feed, Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.rounds import Draw, Floor, JobResult, Value
from traindyno.core.scaling import Group, Meeting, Scaling
from traindyno.core.soaking import Series, Soak

LARGEST_SEED = 2**63 - 1
"""torch takes twice as much: other seeds are counted from it."""
Mode = Literal["train", "infer"]
OptimizerName = Literal["sgd", "adam", "adamw"]
Precision = Literal["fp32", "bf16", "fp16"]
MemoryFormat = Literal["contiguous", "channels_last"]
CompileMode = Literal["none", "default", "reduce-overhead", "max-autotune"]
Determinism = Literal["none", "cudnn", "all"]
Tf32 = Literal["none", "convolutions", "all"]
OptimizerKernel = Literal["auto", "loop", "foreach", "fused"]
TrialKind = Literal[
    "fit",
    "speed",
    "train",
    "probe",
    "load",
    "feed",
    "pair",
    "losses",
    "anatomy",
    "soak",
    "learn",
    "noise",
    "job",
    "scale",
]


class WorkloadSpec(Record, frozen=True):
    """What is trained, named in text. It is built only inside a trial.

    `arguments` are handed to the user's own function that makes the model, or that is the whole training job.
    """

    model: str
    mode: Mode = "train"
    data: str = "synthetic:"
    image_size: int | None = None
    classes: int | None = None
    optimizer: OptimizerName = "sgd"
    conv1_stride: int | None = None
    source_sha256: str | None = None
    skip_bad: bool = False
    arguments: dict[str, Value] = {}  # noqa: RUF012 - msgspec copies it

    def __hash__(self) -> int:
        """A dict has no hash; what stands beside it tells nearly all workloads apart."""
        return hash((self.model, self.mode, self.data, self.image_size, self.optimizer, self.conv1_stride))

    @property
    def runs_user_code(self) -> bool:
        """Whether the model comes from a file of the user's rather than from a known name."""
        return is_user_file(self.model)


def is_user_file(model: str) -> bool:
    """`path/to/file.py:function` as against `torchvision:resnet50`."""
    return ".py:" in model or model.endswith(".py")


class Settings(Record, frozen=True):
    """The knobs of one run. All but the first three have torch's own defaults.

    `batch_size` is what one optimiser step sees: with `accumulation_steps` of k it is computed in k parts.
    `determinism` of `cudnn` restricts cuDNN alone, `all` every algorithm. `read_metrics` reads the loss on the host
    after every step. `threads` are those that torch computes with on a CPU, in each process. `devices` share every
    batch, one process on each: `batch_size` is that of all of them together.
    """

    batch_size: int
    precision: Precision = "fp32"
    device: str = "cpu"
    num_workers: int = 0
    prefetch_factor: int = 2
    pin_memory: bool = False
    persistent_workers: bool = False
    decoder: Decoder = "pil"
    memory_format: MemoryFormat = "contiguous"
    compile: CompileMode = "none"
    cudnn_benchmark: bool = False
    determinism: Determinism = "none"
    tf32: Tf32 = "convolutions"
    optimizer_kernel: OptimizerKernel = "auto"
    accumulation_steps: int = 1
    activation_checkpointing: bool = False
    expandable_segments: bool = False
    read_metrics: bool = False
    threads: int | None = None
    devices: int = 1


_FIRST_SETTINGS = ("batch_size", "precision", "device")
_LATER_SETTINGS = tuple(name for name in Settings.__struct_fields__ if name not in _FIRST_SETTINGS)


class Budget(Record, frozen=True):
    """How much one trial may do. Steps for `fit` and `train`, time and precision for the others."""

    steps: int | None = None
    seconds: float | None = None
    relative_interval: float = 0.01


class TrialSpec(Record, frozen=True):
    """Everything a trial needs, as one document.

    A `pair` measures `settings` against those of `against`, by turns. `recipe` is for trials that learn, `noise_plan`
    for those that read the noise of their gradients besides. `trace_path` is where an `anatomy` writes a trace,
    `checkpoints` the folder where a run that learns keeps its state and goes on from, `checkpoints_of` the identity of
    the run they are of where code has moved since, `tensorboard` the folder of its curves; none of the four is part of
    the trial's identity. `draw` says what a trial of a tuning round is for, and `floors` when it is ended early.
    `group` are the processes of a `scale` trial, whose batch size is that of all of them together; `meeting` is where
    they find each other, and `silence_seconds` how long they may do nothing before the one that the others wait for
    counts as hung; neither is part of the trial's identity.
    """

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
    against: Settings | None = None
    trace_path: str | None = None
    recipe: Recipe | None = None
    noise_plan: NoisePlan | None = None
    draw: Draw | None = None
    floors: tuple[Floor, ...] = ()
    group: Group | None = None
    meeting: Meeting | None = None
    silence_seconds: float | None = None
    checkpoints: str | None = None
    checkpoints_of: str | None = None
    tensorboard: str | None = None

    @property
    def key(self) -> str:
        """Identity in the ledger: equal keys mean the same measurement.

        What was added to these records later does not count while it has its default: studies begun before go on.
        """
        document = msgspec.to_builtins(self)
        for unrelated in ("trace_path", "checkpoints", "checkpoints_of", "tensorboard", "meeting", "silence_seconds"):
            del document[unrelated]
        plain = TrialSpec(kind=self.kind, workload=self.workload, settings=self.settings)
        for part, default, fields in (
            (document, plain, ("feed", "against", "recipe", "noise_plan", "draw", "floors", "group")),
            (document["workload"], WorkloadSpec(model=self.workload.model), ("skip_bad", "arguments")),
            (document["settings"], Settings(batch_size=self.settings.batch_size), _LATER_SETTINGS),
        ):
            for field in fields:
                if part[field] == msgspec.to_builtins(getattr(default, field)):
                    del part[field]
        # The settings of a pair's other side were written out in full before there were several devices.
        if self.against is not None and self.against.devices == 1:
            del document["against"]["devices"]
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


class Arm(Record, frozen=True):
    """One side of a pair. `first_step_seconds` has compiling in it, if there is any."""

    step_seconds: float
    ci95: tuple[float, float]
    steady: bool
    memory: Memory
    start_up_seconds: float
    first_step_seconds: float
    warm_up_seconds: float
    warm_up_steps: int
    loss: float | None = None
    notes: tuple[str, ...] = ()


class Pair(Record, frozen=True):
    """Two settings that took turns, each in its own process. `ratio` above 1: the candidate is faster.

    `turns` are seconds per step of baseline and candidate, block by block.
    """

    baseline: Arm
    candidate: Arm
    turns: tuple[tuple[float, float], ...]
    ratio: float
    ci95: tuple[float, float]


class Measurement(Record, frozen=True):
    """What one trial found. `step_seconds` is the median block's time per step; of a pair, the candidate's.

    Where batches are loaded or moved, it is the time of all counted blocks by their steps: of kinds `load`, `feed` and
    `anatomy`, and of a `scale` that loaders feed.
    `losses` are those of every step, where a trial was made to tell them. `has_images` says whether an input or a
    weight has four dimensions, which a memory format is about; null where nobody looked.
    """

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
    image_size: int | None = None
    has_images: bool | None = None
    loading: Loading | None = None
    pair: Pair | None = None
    losses: tuple[float, ...] = ()
    anatomy: Anatomy | None = None
    soak: Soak | None = None
    learning: Learning | None = None
    noise: Noise | None = None
    job: JobResult | None = None
    scaling: Scaling | None = None
    notes: tuple[str, ...] = ()

    @property
    def became_steady(self) -> bool:
        """Of a pair, both arms."""
        return self.steady and (self.pair is None or self.pair.baseline.steady)

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
    """The state of the device while a trial ran. Unknown is null, never zero.

    `runs_beside` are those that other processes had in hand when it began or ended, in a study that several may run.
    `machine` is the one of several that ran the trial, and `machine_kind` what measurements on it depend on.
    """

    samples: int = 0
    sm_clock_mhz: tuple[int, int] | None = None
    temperature_celsius: tuple[int, int] | None = None
    power_watts: tuple[float, float] | None = None
    throttle_reasons: tuple[str, ...] = ()
    foreign_processes: int | None = None
    load_average: float | None = None
    other_cpu_share: float | None = None
    runs_beside: int | None = None
    machine: str | None = None
    machine_kind: str | None = None


class TrialRecord(Record, frozen=True):
    """One line of a study: a trial and its outcome. `series` is what was sampled beside a long one."""

    spec: TrialSpec
    outcome: Outcome
    seconds: float
    measurement: Measurement | None = None
    failure: Failure | None = None
    conditions: Conditions = Conditions()
    series: Series | None = None

    @property
    def batch_size(self) -> int:
        return self.spec.settings.batch_size

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.OK
