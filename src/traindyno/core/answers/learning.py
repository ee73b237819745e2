"""What is concluded about learning: a run, batches and their accuracy, gradient noise, time to a target."""

from typing import Any

from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.learning import Equal, Evaluation, Metric, RateRule


class TrainAnswer(Record, frozen=True):
    """One run of the recipe. `accuracy` and `loss` are those at its end, `best_accuracy` the highest on the way.

    `accuracy_ci95` says how far the accuracy may be by the choice of the evaluation examples; another seed may differ
    by more.
    """

    model: str
    data: str
    batch_size: int
    learning_rate: float
    accuracy: float | None
    loss: float
    best_accuracy: float | None
    evaluations: tuple[Evaluation, ...]
    epochs: float
    steps: int
    planned_steps: int
    examples: int
    training_seconds: float
    evaluation_seconds: float
    examples_per_second: float
    diverged: bool
    checkpoint: str | None
    tensorboard: str | None = None
    resumed_from: tuple[int, ...] = ()
    norm_examples: int | None = None
    processes: int = 1
    accuracy_ci95: Interval | None = None
    training_examples: int = 0
    evaluation_examples: int = 0
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class AccuracyRow(Record, frozen=True):
    """One batch size over its seeds. A run that diverged counts with the accuracy it ended with.

    `ci95` is of the mean. `tuning_runs` are those that looked for the rate, on seeds of their own.
    """

    batch_size: int
    learning_rate: float
    accuracy_mean: float
    accuracy_sd: float | None
    seeds: int
    steps: int
    seconds: float
    epochs: float
    ci95: Interval | None = None
    accuracies: tuple[float, ...] = ()
    diverged: int = 0
    missing: int = 0
    norm_examples: int | None = None
    tuning_runs: int = 0
    rate_at_edge: bool = False


class RowComparison(Record, frozen=True):
    """Two rows: how much the second differs from the first, and `p_value` corrected for all comparisons.

    Means are compared by Welch's test, times by the log-rank test. `detectable` is the difference that so many seeds,
    spread so far, show four times in five.
    """

    first: str
    second: str
    difference: float
    ci95: Interval | None
    p_value: float | None
    verdict: str
    detectable: float | None = None


class AccuracyAnswer(Record, frozen=True):
    model: str
    data: str
    rule: RateRule
    equal: Equal
    rows: tuple[AccuracyRow, ...]
    comparisons: tuple[RowComparison, ...]
    reference_batch: int
    noise_scale: float | None = None
    emulated_devices: int = 1
    tuning_seconds: float = 0.0
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class NoiseWindow(Record, frozen=True):
    """The noise scale over a part of training."""

    first_step: int
    last_step: int
    epochs: float
    noise_scale: float | None
    ci95: Interval | None


class BatchTime(Record, frozen=True):
    """One batch size: steps as a multiple of the least, seconds per step, and time to the same loss beside the best."""

    batch_size: int
    step_seconds: float
    ci95: Interval
    relative_steps: float
    relative_examples: float
    relative_time: float
    relative_time_ci95: Interval
    marks: tuple[str, ...] = ()


class NoiseScaleAnswer(Record, frozen=True):
    """`best_batch` is the measured batch with the shortest time to the same loss, `batch_range` those within 5 % of it.

    `closed_form_batch` is √(alpha · noise scale / beta), for display. Gradients were read in `runs` runs, of `epochs`
    each, in `micro_batches` of `micro_batch` examples.
    """

    model: str
    data: str
    batch_size: int
    learning_rate: float
    noise_scale: float | None
    ci95: Interval | None
    windows: tuple[NoiseWindow, ...]
    alpha_seconds: float | None
    beta_seconds: float | None
    best_batch: int | None
    batch_range: tuple[int, int] | None
    rows: tuple[BatchTime, ...]
    closed_form_batch: float | None = None
    preconditioned: bool = False
    runs: int = 0
    epochs: float | None = None
    micro_batch: int | None = None
    micro_batches: int | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class TargetRow(Record, frozen=True):
    """One way to train over its seeds. Runs that missed the target count as infinite; a median over them may be so too.

    `reached` of `seeds` runs did; `diverged` lost their numbers before, and `missing` could not be run to an end, of
    which `failure` tells the last. `examples`, `steps` and `cost` are medians as `median_seconds` is. `best_metric` is
    the best that any of its evaluations showed; `resolution_seconds` lie between two of them. `devices` shared every
    batch, and the cost is that of all of them. `norm_examples` are those that batch normalisation saw at once.
    """

    label: str
    settings: dict[str, Any]
    learning_rate: float
    seeds: int
    reached: int
    median_seconds: float
    ci95: Interval | None
    examples: float
    steps: float
    cost: float | None
    best_metric: float | None
    diverged: int = 0
    missing: int = 0
    examples_ci95: Interval | None = None
    steps_ci95: Interval | None = None
    resolution_seconds: float | None = None
    failure: str | None = None
    devices: int = 1
    norm_examples: int | None = None


class StepsFit(Record, frozen=True):
    """S(B) = least_steps · (1 + noise_scale / B), through the measured steps to the target; `errors` by batch."""

    least_steps: float
    noise_scale: float
    errors: dict[int, float]
    predicted_batch: int | None = None
    refitted_batch: int | None = None


class TargetAnswer(Record, frozen=True):
    """`winner` is the fastest row; null where one of the others cannot be told from it, or none reached the target.

    `least_examples` and `least_cost` name the rows that need the fewest examples and the least money, told apart in the
    same way; where the first ones in time are not, about `needed_seeds` would do it. Evaluations came every
    `evaluation_examples`. `noise_scale` is what rates or batches rest on; `predicted` the time at every timed batch by
    it, and `fit` what the measured steps say of that.
    """

    model: str
    data: str
    metric: Metric
    value: float
    rows: tuple[TargetRow, ...]
    winner: str | None
    comparisons: tuple[RowComparison, ...] = ()
    least_examples: str | None = None
    least_cost: str | None = None
    fit: StepsFit | None = None
    noise_scale: float | None = None
    predicted: tuple[BatchTime, ...] = ()
    evaluation_examples: int | None = None
    needed_seeds: int | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False
