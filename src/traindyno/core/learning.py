"""Training that learns something: the recipe, what a run of it showed, and the noise in its gradients."""

from typing import Literal

from traindyno.core.base import Record

Schedule = Literal["cosine", "constant", "step"]
FineTuning = Literal["all", "head"]
BatchNorm = Literal["own", "sync", "ghost"]
Metric = Literal["accuracy", "loss"]
RateRule = Literal["gain", "linear", "sqrt", "none", "tune"]
Equal = Literal["epochs", "steps"]
Objective = Literal["throughput", "time-to-accuracy"]

PLAIN_MICRO_BATCH = 8
NORMALISED_MICRO_BATCH = 16
"""Statistics of fewer examples are noise of their own."""
LEARNING = "training"
"""The phase of a trial in which it learns; its progress tells of planned steps and accuracy."""
FIRST_STEP = "first step"
"""The phase before that, in which it compiles and allocates."""


class Target(Record, frozen=True):
    """What a run is to reach: an accuracy of at least `value`, or a loss of at most `value`."""

    metric: Metric
    value: float

    def is_met_by(self, accuracy: float | None, loss: float) -> bool:
        if self.metric == "accuracy":
            return accuracy is not None and accuracy >= self.value
        return loss <= self.value


class Recipe(Record, frozen=True):
    """How weights change, apart from the optimiser's name, which is the workload's, and the batch, which is a setting.

    A run is `epochs` long, or `steps` where those are given; every schedule ends with the run itself. `learning_rate`
    is the schedule's highest, reached after `warm_up_epochs`; `step` multiplies it by `step_factor` at each of
    `step_at`, shares of the run. `momentum` is SGD's alone. `weights` is a local file to begin with, `weights_sha256`
    its content; `fine_tuning` of `head` trains the last layer alone. `batch_norm` of `ghost` normalises over groups of
    `ghost_size` examples, `sync` over all processes. `emulated_devices` normalise over their own part of the batch
    each, as they would without `sync`. Evaluation comes after every `evaluation_examples` examples, or every epoch, and
    at the end; it is made on the source's own evaluation split, or on `hold_out` of the examples where there is none. A
    run with a `target` ends when two evaluations in a row have met it.
    """

    learning_rate: float
    epochs: float = 10.0
    steps: int | None = None
    momentum: float = 0.9
    schedule: Schedule = "cosine"
    warm_up_epochs: float = 0.0
    step_at: tuple[float, ...] = (0.5, 0.75)
    step_factor: float = 0.1
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    clip_norm: float | None = None
    fine_tuning: FineTuning = "all"
    weights: str | None = None
    weights_sha256: str | None = None
    batch_norm: BatchNorm = "own"
    ghost_size: int = 32
    emulated_devices: int = 1
    evaluation_examples: int | None = None
    hold_out: float = 0.2
    target: Target | None = None


class Evaluation(Record, frozen=True):
    """How far training was at one moment. `seconds` are those of training: the clock stands still while this is made.

    `training_loss` is the mean since the evaluation before. `accuracy` is null where outputs are no classes.
    """

    step: int
    examples: int
    seconds: float
    loss: float
    accuracy: float | None
    training_loss: float
    learning_rate: float


class Learning(Record, frozen=True):
    """One run of a recipe. `norm_examples` are those that batch normalisation sees at once; null where there is none.

    A run that `diverged` lost its numbers; its last evaluation is of what was left. `reached` is the evaluation that
    met the target first, of two in a row; null where none did or none was asked for. `resumed_from` are the steps at
    which the run went on from a checkpoint. A `pruned` run was ended early as clearly behind others. `remarks` are
    sentences on what it was made with, none of them a warning. `began_finite` says whether the loss of the very first
    step was a number; null where that is not known.
    """

    evaluations: tuple[Evaluation, ...]
    steps: int
    planned_steps: int
    examples: int
    seconds: float
    evaluation_seconds: float
    training_examples: int
    evaluation_examples: int
    classes: int | None = None
    norm_examples: int | None = None
    processes: int = 1
    reached: Evaluation | None = None
    diverged: bool = False
    checkpoint: str | None = None
    resumed_from: tuple[int, ...] = ()
    pruned: bool = False
    remarks: tuple[str, ...] = ()
    began_finite: bool | None = None


class NoisePlan(Record, frozen=True):
    """How gradients are read: `micro_batches` of `micro_batch` examples at the same weights, `readings` times a run.

    Without a `micro_batch` it is 8, or 16 where the model normalises over the batch.
    """

    micro_batch: int | None = None
    micro_batches: int = 16
    readings: int = 50

    def examples_together(self, normalises: bool) -> int:
        """The size of a micro-batch, for a model that `normalises` over the batch or does not."""
        return self.micro_batch or (NORMALISED_MICRO_BATCH if normalises else PLAIN_MICRO_BATCH)


class NoiseReading(Record, frozen=True):
    """Both estimates are unbiased, so either may be below zero by chance.

    `gradient_squared` is the squared length of the true gradient, `noise_trace` the trace of one example's covariance;
    with Adam both after its preconditioner. `learning_rate` is that of the step to come.
    """

    step: int
    examples: int
    loss: float
    gradient_squared: float
    noise_trace: float
    learning_rate: float | None = None


class Noise(Record, frozen=True):
    """What a run showed of its gradients' noise, in the order of its steps, and remarks on what it was made with."""

    readings: tuple[NoiseReading, ...]
    micro_batch: int
    micro_batches: int
    preconditioned: bool
    training_examples: int
    steps: int
    norm_examples: int | None = None
    remarks: tuple[str, ...] = ()
