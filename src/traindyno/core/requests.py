"""What a study was asked, in a form that can be stored and asked again."""

from typing import Any, Literal

import msgspec

from traindyno.core.base import Record
from traindyno.core.learning import Equal, NoisePlan, Objective, RateRule, Recipe, Target
from traindyno.core.loading import Decoder
from traindyno.core.records import Precision, Settings, WorkloadSpec
from traindyno.core.rounds import Configuration, Round
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.core.setups import Setup

Choice = Literal["recommended", "fastest", "largest"]
Executor = Literal["local", "ray"]


class Bench(Record, frozen=True):
    """What every measuring command shares: where and how trials run.

    `settled` names those of the fields that were not asked for, but found when the study began and kept with it. With
    the executor `ray`, `address` is the cluster's, and `lane_kind` the kind of machine that the study stays with.
    """

    device: str = "cpu"
    precision: Precision = "fp32"
    seed: int = 0
    runner: str = "fork"
    time_budget_seconds: float | None = None
    memory_limit_bytes: int | None = None
    step_timeout_seconds: float | None = None
    trial_timeout_seconds: float | None = None
    settled: tuple[str, ...] = ()
    executor: Executor = "local"
    address: str | None = None
    lane_kind: str | None = None

    @property
    def asked(self) -> "Bench":
        """The bench in the user's own words."""
        unsaid = {name: "auto" if name == "device" else None for name in self.settled}
        return msgspec.structs.replace(self, settled=(), **unsaid)


class MaxBatchRequest(Record, frozen=True, tag_field="command", tag="max-batch"):
    workloads: tuple[WorkloadSpec, ...]
    bench: Bench
    tolerance: float = 0.01
    exact: bool = False
    limit: int | None = None
    margin: float = 0.05
    effective_batch: int | None = None


class ThroughputRequest(Record, frozen=True, tag_field="command", tag="throughput"):
    workload: WorkloadSpec
    bench: Bench
    sizes: tuple[int, ...] | None = None
    largest: int | None = None
    smallest: int = 1
    refine: bool = True
    repeats: int = 3
    choose: Choice = "recommended"
    margin: float = 0.05
    trial_seconds: float = 5.0


class CurveSource(Record, frozen=True):
    """Where an earlier curve comes from: what its study asked, and the machine that it was measured on."""

    request: ThroughputRequest
    machine: dict[str, Any] | None = None


class PlanRequest(Record, frozen=True, tag_field="command", tag="plan"):
    """The curve is measured as `curve` says, or is that of `from_study`; `source` is what was found there."""

    examples: int
    epochs: float
    curve: ThroughputRequest | None = None
    from_study: str | None = None
    eval_every_epochs: float | None = None
    eval_examples: int | None = None
    price_per_hour: float | None = None
    validate: bool = False
    validate_seconds: float = 60.0
    source: CurveSource | None = None


class LoaderRequest(Record, frozen=True, tag_field="command", tag="loader"):
    """`workers` and `sizes` span the grid, if one is wanted; `cpus` are counts to restrict the trials to, in turn.

    `local_ranks` processes on this machine train like this one, and share its CPUs.
    """

    workload: WorkloadSpec
    bench: Bench
    batch_size: int
    with_model: bool = True
    workers: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None
    grid: bool = False
    cpus: tuple[int, ...] = ()
    decoder: Decoder | None = None
    epoch_examples: int | None = None
    trial_seconds: float = 5.0
    local_ranks: int = 1


class StallsRequest(Record, frozen=True, tag_field="command", tag="stalls"):
    """`also` are further sources of the same examples to compare, such as `memory:` or `prepared:PATH`.

    `local_ranks` processes on this machine train like this one, and share its CPUs.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    also: tuple[str, ...] = ()
    cold: bool = True
    repeats: int = 3
    trial_seconds: float = 5.0
    local_ranks: int = 1


class AnatomyRequest(Record, frozen=True, tag_field="command", tag="anatomy"):
    """`settings` hold the batch size that the answer is about; `sizes` are further ones to lay beside it.

    With `from_loader` the steps are fed by the loader, otherwise from finished batches in host memory. `trace` is a
    file for a few steps in Chrome's format.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    sizes: tuple[int, ...] = ()
    from_loader: bool = False
    repeats: int = 3
    trial_seconds: float = 5.0
    trace: str | None = None


class SwitchesRequest(Record, frozen=True, tag_field="command", tag="switches"):
    """`settings` are the baseline. `only` and `skip` name switches; `combine` asks for the greedy combination."""

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    max_autotune: bool = False
    combine: bool = True
    check_losses: bool = True
    repeats: int = 2
    trial_seconds: float = 3.0


class SoakRequest(Record, frozen=True, tag_field="command", tag="soak"):
    """Training for `run_seconds`. With `from_loader` it is fed by the loader, otherwise by one resident batch.

    `epoch_examples` is an epoch's length where data has none of its own.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    run_seconds: float
    from_loader: bool = False
    epoch_examples: int | None = None
    price_per_hour: float | None = None
    price_per_kwh: float | None = None


class Surroundings(Record, frozen=True):
    """What a machine had for a search when it began; the search rests on it, also when it is resumed.

    `is_prepared` says that the set which may be prepared was there already. Of the other sources that may be used,
    `pixels` hold what need not be decoded.
    """

    usable_cpus: float
    physical_cores: int | None = None
    default_threads: int | None = None
    has_cpp_compiler: bool = False
    is_prepared: bool = False
    decoders: tuple[Decoder, ...] = ()
    pixels: tuple[str, ...] = ()
    shared_free_bytes: int | None = None
    available_bytes: int | None = None
    open_files: int | None = None


class NewBudget(Record, frozen=True):
    """A search that had so many `trials` was gone on with, in so many `seconds` from there."""

    trials: int
    seconds: float


class FindRequest(Record, frozen=True, tag_field="command", tag="find"):
    """`settings` are the baseline's, which trains from the workload's data.

    `keep` names what must not change: settings, `data` or `augmentation`. `batch_range` are the ends between which the
    batch may change in what is recommended; without it the user's own batch is kept there, and a free one only shown
    beside it. `also` are further sources of the same examples that may be used. `prepare` is a folder into which the
    data may be prepared. `margin` of the memory is held back. `surroundings` are found when the study begins.

    With the objective `time-to-accuracy` the batch may change too, to the one that should reach the same loss soonest.
    That follows from `noise_scale`; where it is not given, it is read along runs with `learning_rate`, of `epochs`.

    `budgets` are those that were given when the study was gone on with.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    keep: tuple[str, ...] = ()
    batch_range: tuple[int, int] | None = None
    also: tuple[str, ...] = ()
    prepare: str | None = None
    margin: float = 0.05
    epochs: float | None = None
    epoch_examples: int | None = None
    learning_rate: float | None = None
    repeats: int = 3
    trial_seconds: float = 3.0
    local_ranks: int = 1
    surroundings: Surroundings | None = None
    objective: Objective = "throughput"
    noise_scale: float | None = None
    budgets: tuple[NewBudget, ...] = ()


class VerifyRequest(Record, frozen=True, tag_field="command", tag="verify"):
    """Two ways to train the same workload, and what the second was promised to gain; `file` says where that stands.

    `promise_confirmed` is false where the promise rests on single processes, `promise_simulated` true where it was not
    measured at all; `promise_others_cpu_share` is what other programs took of the CPUs meanwhile. `data` is what was
    said of where the file's data lies here.
    """

    workload: WorkloadSpec
    bench: Bench
    baseline: Setup
    recommended: Setup
    promised_speedup: float | None = None
    promised_ci95: tuple[float, float] | None = None
    promise_confirmed: bool | None = None
    promise_simulated: bool | None = None
    promise_others_cpu_share: float | None = None
    repeats: int = 5
    trial_seconds: float = 3.0
    file: str | None = None
    data: tuple[str, ...] = ()


class TrainRequest(Record, frozen=True, tag_field="command", tag="train"):
    """One run of the recipe. `checkpoints` and `tensorboard` are folders; the first is the store's by default."""

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    recipe: Recipe
    checkpoints: str | None = None
    tensorboard: str | None = None


class AccuracyRequest(Record, frozen=True, tag_field="command", tag="accuracy"):
    """`sizes` are compared; the recipe's rate and length are those of `reference_batch`, from which `rule` scales them.

    `equal` is what all sizes have as many of as the reference: epochs, or optimiser steps. `noise_scale` serves the
    rule `gain`; without it, it is measured first. `seeds` runs of each size are counted; `tune` looks for rates with
    `tuning_seeds` others.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    sizes: tuple[int, ...]
    recipe: Recipe
    reference_batch: int
    rule: RateRule = "gain"
    equal: Equal = "epochs"
    seeds: int = 3
    noise_scale: float | None = None
    noise_plan: NoisePlan = NoisePlan()
    tuning_seeds: int = 2


class NoiseScaleRequest(Record, frozen=True, tag_field="command", tag="noise-scale"):
    """The noise of gradients along the recipe at the settings' batch, over `seeds` runs, and the step by batch size.

    `sizes` are those at which the step is timed; without them doubling ones, up to `largest`.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    recipe: Recipe
    plan: NoisePlan = NoisePlan()
    seeds: int = 3
    sizes: tuple[int, ...] | None = None
    largest: int | None = None
    repeats: int = 3
    trial_seconds: float = 2.0


class Contender(Record, frozen=True):
    """One way to train, by the name that tables give it. Without a rate of its own it has the one that a rule gives."""

    label: str
    settings: Settings
    learning_rate: float | None = None


class TargetRequest(Record, frozen=True, tag_field="command", tag="target"):
    """Which of `contenders` reaches the target first. The recipe is common to all but the rate, and bounds a run.

    Its rate is that of `reference_batch`, from which `rule` scales it. With `verify` the contenders are made from
    `settings` and the noise scale instead: a quarter of the best batch by it, that batch, and four times it.
    `noise_scale` serves both; where it is needed and not given, it is measured first. `seeds` runs of each are counted.
    """

    workload: WorkloadSpec
    bench: Bench
    recipe: Recipe
    target: Target
    contenders: tuple[Contender, ...] = ()
    seeds: int = 6
    price_per_hour: float | None = None
    verify: bool = False
    reference_batch: int | None = None
    rule: RateRule = "gain"
    noise_scale: float | None = None
    noise_plan: NoisePlan = NoisePlan()
    settings: Settings | None = None


class RoundRequest(Record, frozen=True, tag_field="command", tag="round run"):
    """A tuning round. `workload`, `settings` and `recipe` are what its job has before any hyperparameter is set.

    The recipe is null where the job is the user's own. `lints` are what the round's file was warned of.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    round: Round
    recipe: Recipe | None = None
    lints: tuple[str, ...] = ()


class Candidate(Record, frozen=True):
    """A configuration that fresh seeds are to prove; the incumbent is one of them. `values` are by field of the job.

    `changes` are those of its values that the incumbent has otherwise. `search_score` is what the search saw, which
    proves nothing.
    """

    label: str
    values: Configuration
    arm: str | None = None
    changes: Configuration = {}  # noqa: RUF012 - msgspec copies it
    search_score: float | None = None


class AdoptRequest(Record, frozen=True, tag_field="command", tag="round adopt"):
    """Fresh seeds for `candidates`, of which the first is the incumbent, in the round of the study `round_study`.

    `looks` are the numbers of seeds at which a verdict was or is to be asked for, ascending; every look has its share
    of the error that all may make together. `first_seed` lies beyond all seeds of the search. `commit` is the user's
    own code at that time, with `+` where it had changes. `arms` are those that were named to be proved.
    `failed_checks` are what checks of the round had said against it, and was passed over.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    round: Round
    round_study: str
    candidates: tuple[Candidate, ...]
    looks: tuple[int, ...]
    first_seed: int
    recipe: Recipe | None = None
    commit: str | None = None
    arms: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()


class ScaleRequest(Record, frozen=True, tag_field="command", tag="scale"):
    """`settings` hold all but the batch size and `accumulation_steps`, of which `accumulations` are measured.

    `devices` are the counts to compare, over all `nodes` together; the other machines find this one at `listen`. At
    least one of `batches_per_device` (weak scaling: every device keeps its batch) and `global_batches` (strong: the
    devices share it) is given. Further `bucket_mib` and `accumulations` than the first are measured with the most
    devices alone. With `examples` and `epochs` the time to train is told, with `price_per_hour`, of one device, its
    cost. `learning_rate` is right for `rate_batch`.
    """

    workload: WorkloadSpec
    bench: Bench
    settings: Settings
    devices: tuple[int, ...]
    nodes: int = 1
    listen: str | None = None
    batches_per_device: tuple[int, ...] = ()
    global_batches: tuple[int, ...] = ()
    bucket_mib: tuple[float, ...] = (USUAL_BUCKET_MIB,)
    accumulations: tuple[int, ...] = (1,)
    from_loader: bool = False
    examples: int | None = None
    epochs: float | None = None
    price_per_hour: float | None = None
    learning_rate: float | None = None
    rate_batch: int | None = None
    rate_rule: RateRule = "linear"
    repeats: int = 3
    trial_seconds: float = 5.0


Request = (
    MaxBatchRequest
    | ThroughputRequest
    | PlanRequest
    | LoaderRequest
    | StallsRequest
    | AnatomyRequest
    | SwitchesRequest
    | SoakRequest
    | FindRequest
    | VerifyRequest
    | TrainRequest
    | AccuracyRequest
    | NoiseScaleRequest
    | TargetRequest
    | RoundRequest
    | AdoptRequest
    | ScaleRequest
)


def workloads_of(request: Request) -> tuple[WorkloadSpec, ...]:
    """What a request runs; a plan from a known curve runs nothing of its own."""
    if isinstance(request, MaxBatchRequest):
        return request.workloads
    if isinstance(request, PlanRequest):
        return () if request.curve is None else (request.curve.workload,)
    return (request.workload,)
