"""The answer of `find`: the fastest settings on this machine, proved against the baseline, and of `verify`."""

from typing import Any

from traindyno.core.answers.interval import Interval
from traindyno.core.answers.loading import Remedy
from traindyno.core.base import Record
from traindyno.core.learning import Objective
from traindyno.core.records import Mode


class Finalist(Record, frozen=True):
    """One way to train, as the last rounds measured it end to end, by turns with the baseline.

    `settings` are all of them, `changes` those that differ from the baseline's, `data` where the examples come from.
    `speedup` is against the baseline, round by round; without two rounds that agree it rests on single processes and
    `confirmed` is false. `cheaper_in` says what it saves beside what is recommended: memory, CPUs or changes of code.
    `learning_rate_factor` is by rule for another batch than the baseline's. `steady` is false where a trial of it did
    not become steady, or two of them disagree.

    Where the gradients' noise scale is known, `examples_needed` says how many times the baseline's examples the same
    loss takes at this batch, and `learning_gain` how many times as fast that makes it there. Both are predicted.

    `rests_on` says of each change, by its name, what speaks for it: a trial, the simulation or a rule.
    """

    name: str
    data: str
    settings: dict[str, Any]
    changes: dict[str, Any]
    batch_size: int
    examples_per_second: float
    ci95: Interval
    step_seconds: float
    speedup: float
    speedup_ci95: Interval
    confirmed: bool
    processes: int
    peak_memory_bytes: int
    predicted_examples_per_second: float | None = None
    cheaper_in: tuple[str, ...] = ()
    learning_rate_factor: float | None = None
    learning_rate: float | None = None
    warnings: tuple[str, ...] = ()
    examples_needed: float | None = None
    learning_gain: float | None = None
    learning_gain_ci95: Interval | None = None
    steady: bool = True
    rests_on: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it

    @property
    def worth(self) -> float:
        """What it is judged by: how many times as fast as the baseline, to the same loss where that is predicted."""
        return self.speedup if self.learning_gain is None else self.learning_gain

    @property
    def worth_ci95(self) -> Interval:
        return self.speedup_ci95 if self.learning_gain_ci95 is None else self.learning_gain_ci95


class Attempt(Record, frozen=True):
    """Something that was tried, or looked at and not tried, with what came of it.

    `side` is what it would speed up: `data`, `step` or `batch`. `ratio` above 1 is faster than what it was tried on;
    `predicted` says that it comes from the simulation and was not measured. `within_process` says that `ci95` is of one
    pair or one run, and does not cover how far processes differ. `outcome` is one sentence.
    """

    side: str
    change: str
    outcome: str
    adopted: bool = False
    ratio: float | None = None
    ci95: Interval | None = None
    predicted: bool = False
    within_process: bool = False
    trials: int = 0
    seconds: float = 0.0


class TimeSpent(Record, frozen=True):
    """What a part of the search took."""

    part: str
    trials: int
    seconds: float


class StepShare(Record, frozen=True):
    """One phase of a step fed by the loader: seconds of the step, and per example."""

    phase: str
    seconds: float
    share: float
    seconds_per_example: float


class Headroom(Record, frozen=True):
    """What the recommended settings leave: shares of the rate with resident data, and of the device's ceilings.

    On a CPU the rest of the time is `waiting_share`, for a batch, and `slowed_share`: what the step takes longer beside
    the loader than alone.
    """

    resident_examples_per_second: float | None = None
    share_of_resident: float | None = None
    share_of_resident_ci95: Interval | None = None
    waiting_share: float | None = None
    slowed_share: float | None = None
    flops_share: float | None = None
    bytes_share: float | None = None
    unknown_because: str | None = None


class TrainingTime(Record, frozen=True):
    """How long training takes before and after, the loader's start at every epoch included.

    `epochs_needed` are those that the same loss should take at the batch of what is recommended, where it is another.
    """

    epochs: float
    examples: int
    baseline_seconds: float
    baseline_ci95: Interval
    seconds: float
    ci95: Interval
    epoch_seconds: float
    epochs_needed: float | None = None


class FindAnswer(Record, frozen=True):
    """`recommended` is `at_own_batch`, or `with_free_batch` where the user allowed the batch to change.

    With the objective `time-to-accuracy` that is so where `noise_scale` predicts that it reaches the same loss sooner;
    where it could not be told, it is null, and the batch stays the user's.

    `constraints` say in words what was kept. `offered` are steps that the user did not allow, with their predicted
    gain. `finalists` are all that the last rounds measured, `failed` says in sentences who failed in them.
    `step_before` and `step_after` take the step apart. `image_size` is that of the trials, asked for or not.
    """

    model: str
    mode: Mode
    data: str
    batch_size: int
    baseline: Finalist
    recommended: Finalist
    speedup: float
    speedup_ci95: Interval
    near_equal: tuple[Finalist, ...]
    bound_before: str
    bound_after: str
    headroom: Headroom
    trials: int
    seconds: float
    at_own_batch: Finalist
    with_free_batch: Finalist | None = None
    finalists: tuple[Finalist, ...] = ()
    failed: tuple[str, ...] = ()
    step_before: tuple[StepShare, ...] = ()
    step_after: tuple[StepShare, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    spent: tuple[TimeSpent, ...] = ()
    constraints: tuple[str, ...] = ()
    offered: tuple[Remedy, ...] = ()
    training_time: TrainingTime | None = None
    report: str | None = None
    verdicts: tuple[str, ...] = ()
    image_size: int | None = None
    simulated: bool = False
    objective: Objective = "throughput"
    noise_scale: float | None = None
    noise_scale_ci95: Interval | None = None


class VerifyAnswer(Record, frozen=True):
    """Whether a gain still holds: what the settings file says, and what was measured now.

    `holds` is true where the measured interval reaches the promised gain and lies above 1, false where it does not,
    and null where the rounds leave it open, or where the settings are the baseline's own and nothing was promised.
    `open_because` is what the rounds lack for an answer.
    """

    model: str
    mode: Mode
    baseline: Finalist
    recommended: Finalist
    speedup: float
    speedup_ci95: Interval
    promised_speedup: float | None
    promised_ci95: Interval | None
    holds: bool | None
    open_because: str | None = None
    verdicts: tuple[str, ...] = ()
    trials: int = 0
    seconds: float = 0.0
    simulated: bool = False
