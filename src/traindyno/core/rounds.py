"""A tuning round: one question, hyperparameters by their roles, and what each of its runs was for."""

from typing import Literal

from traindyno.core.base import Record
from traindyno.core.learning import Evaluation, Metric

GoalKind = Literal["helps", "effect", "maximise", "initial"]
Role = Literal["target", "nuisance", "fixed"]
Scale = Literal["linear", "log"]
Explorer = Literal["halton", "gp", "tpe"]
Phase = Literal["gate", "search", "exploit", "confirm"]
Ending = Literal["ok", "diverged", "pruned", "out_of_memory", "crashed", "timed_out", "failed"]
MetricMoment = Literal["end", "best"]
Value = bool | int | float | str

UNTOLD = "job without reports"
"""The phase of a job of the user's own that does not tell how far it is: only the trial's own limit can end it."""
ALONE = ""
"""The arm of a round without a target, and the branch of a round without a choice that has conditions."""


class Range(Record, frozen=True):
    """Numbers from `low` to `high`, both among them; whole ones only where it is an `integer`."""

    low: float
    high: float
    scale: Scale = "linear"
    integer: bool = False


class Parameter(Record, frozen=True):
    """One hyperparameter: a range or values to choose from, or, if it is fixed, one value and what that leaves open.

    `sets` is what it changes in the job, its own name by default; two conditional parameters may set the same under
    different names. `under` is the parent's name and the value under which it exists at all. `said` is false of what
    nobody named and a rule of thumb made a nuisance.
    """

    name: str
    role: Role
    range: Range | None = None
    values: tuple[Value, ...] = ()
    value: Value | None = None
    caveat: str | None = None
    sets: str | None = None
    under: tuple[str, Value] | None = None
    said: bool = True

    @property
    def field(self) -> str:
        return self.sets or self.name


class Goal(Record, frozen=True):
    """One question. `helps` and `effect` are about the one target; `maximise` and `initial` have none.

    `question` is the same in the user's own words.
    """

    kind: GoalKind
    question: str | None = None


class RoundBudget(Record, frozen=True):
    """How much is searched: `trials` for each arm, or `hours` in all, of which every arm gets its share."""

    trials: int | None = None
    hours: float | None = None


class Seeds(Record, frozen=True):
    """`gate` runs of the incumbent come before the search and show how far seeds differ; `adopt` runs of each prove."""

    gate: int = 3
    adopt: int = 6


class RoundMetric(Record, frozen=True):
    """What is compared. For a job of the user's own the `name` is free, and `higher_is_better` says which way."""

    name: str = "accuracy"
    higher_is_better: bool = True
    at: MetricMoment = "end"


class RoundJob(Record, frozen=True):
    """What is trained. `function` is a training job of the user's own, `file.py:function`, called with hyperparameters.

    Without one the recipe trains `model` on `data`; then `values` are fields of the recipe, the workload or the
    settings that hold for the whole round, such as `epochs` or `batch_size`. Fields that begin with `model.` are
    arguments of the function that makes the model. `function_sha256` is the content of the user's file.
    """

    model: str | None = None
    data: str = "synthetic:"
    function: str | None = None
    function_sha256: str | None = None
    values: dict[str, Value] = {}  # noqa: RUF012 - msgspec copies it


class Round(Record, frozen=True):
    """A round as its file has it, with what rules of thumb added. `incumbent` is what there is to beat, by field.

    `campaign` groups rounds that build on one another. `minimum_gain` is the price of complexity: what a new
    configuration must gain to be worth having. `prune` ends runs early that are clearly behind, where the schedule
    allows it. `then` is how the search goes on after the plain one, for `then_trials` of each arm.
    """

    name: str
    goal: Goal
    job: RoundJob
    parameters: tuple[Parameter, ...]
    budget: RoundBudget
    metric: RoundMetric = RoundMetric()
    seeds: Seeds = Seeds()
    incumbent: dict[str, Value] = {}  # noqa: RUF012 - msgspec copies it
    campaign: str = "default"
    minimum_gain: float = 0.0
    prune: bool = False
    then: Explorer | None = None
    then_trials: int = 0

    @property
    def target(self) -> Parameter | None:
        return next((each for each in self.parameters if each.role == "target"), None)

    @property
    def searched(self) -> tuple[Parameter, ...]:
        """The nuisances, in the file's order: what every arm is tuned over."""
        return tuple(each for each in self.parameters if each.role == "nuisance")

    def parameter(self, name: str) -> Parameter:
        return next(each for each in self.parameters if each.name == name)


class Draw(Record, frozen=True):
    """What a run of a round is for. `index` counts within phase, arm and branch, and is never used twice.

    `values` are the hyperparameters of the run by name, the target's among them, fixed ones not.
    """

    phase: Phase
    arm: str
    index: int
    values: dict[str, Value]
    branch: str = ALONE

    def __hash__(self) -> int:
        """A dict has no hash; the slot tells all draws of a study apart."""
        return hash(self.slot)

    @property
    def slot(self) -> tuple[str, str, str, int]:
        return self.phase, self.arm, self.branch, self.index


class Floor(Record, frozen=True):
    """A run is ended as clearly behind when its metric is worse than `value` after `examples` or more."""

    examples: int
    metric: Metric
    value: float

    def is_missed_by(self, evaluation: Evaluation) -> bool:
        """What is unknown is not worse."""
        if evaluation.examples < self.examples:
            return False
        if self.metric == "accuracy":
            return evaluation.accuracy is not None and evaluation.accuracy < self.value
        return evaluation.loss > self.value


class JobPoint(Record, frozen=True):
    """What a job of the user's own told on its way; all but the metric may be unknown."""

    step: int
    value: float
    seconds: float
    training_loss: float | None = None
    validation_loss: float | None = None


class JobResult(Record, frozen=True):
    """What a job of the user's own came to. `value` is the metric at its end, NaN of a run that lost its numbers.

    Where the job told several figures by name, `others` are all of them and `value` is the first.
    """

    value: float
    points: tuple[JobPoint, ...]
    seconds: float
    others: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it


class CurvePlace(Record, frozen=True):
    """One evaluation of a run, wherever it came from; `share` is how much of the run was over."""

    share: float
    value: float
    loss: float | None = None
    training_loss: float | None = None


class RoundTrial(Record, frozen=True):
    """One run of a round, as conclusions see it. `score` is the metric, null where the run has none.

    `score` of a run that was `pruned` is what it had when it was ended. `seconds` are those of training. One that is
    not `inside` has values that the round does not search any more. One that diverged and is `never_finite` had no
    loss that was a number, from the first step on.
    """

    draw: Draw
    ending: Ending
    score: float | None
    curve: tuple[CurvePlace, ...] = ()
    seed: int = 0
    seconds: float = 0.0
    examples_per_second: float | None = None
    classes: int | None = None
    evaluation_examples: int | None = None
    message: str | None = None
    inside: bool = True
    never_finite: bool = False

    @property
    def feasible(self) -> bool:
        """Whether the run says how good its values are, and not only that they cannot be had."""
        return self.ending in ("ok", "pruned") and self.score is not None


Configuration = dict[str, Value]
"""Values by field of the job."""
