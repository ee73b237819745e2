"""What training learns: `train`, `accuracy`, `noise_scale`, `target`."""

from collections.abc import Iterable
from typing import Any

from traindyno.api.options import ask, one_or_several, split, sweep_of, take_settings, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import AccuracyAnswer, NoiseScaleAnswer, TargetAnswer, TrainAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Emit
from traindyno.core.learning import Equal, Metric, NoisePlan, RateRule, Recipe, Target
from traindyno.core.requests import AccuracyRequest, NoiseScaleRequest, TargetRequest, TrainRequest

_NOT_GIVEN = ("learning_rate", "weights_sha256", "target")
_RECIPE = tuple(name for name in Recipe.__struct_fields__ if name not in _NOT_GIVEN)


@speaks_python
def train(
    model: str,
    *,
    data: str | None = None,
    learning_rate: float,
    batch_size: int = 64,
    checkpoints: str | None = None,
    tensorboard: str | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> TrainAnswer:
    """Train by a recipe, and say what was learnt. `checkpoints` is a folder beside the store unless one is named.

    Further options are the recipe's: `epochs` or `steps`, `momentum`, `schedule` (`"cosine"`, `"constant"`, `"step"`),
    `warm_up_epochs`, `step_at`, `step_factor`, `weight_decay`, `label_smoothing`, `clip_norm`, `fine_tuning` (`"all"`,
    `"head"`), `weights`, `batch_norm` (`"own"`, `"sync"`, `"ghost"`), `ghost_size`, `emulated_devices`,
    `evaluation_examples`, `hold_out`; `devices` of this machine that share every batch; and those of `anatomy`.
    """
    from traindyno.app.train import train as use_case

    workload, bench = split(without_settings(without_recipe(options)), train, *_RECIPE)
    request = TrainRequest(
        workload=workload_of(model, data=data, **workload),
        bench=bench,
        settings=take_settings(options, batch_size),
        recipe=recipe_of(options, learning_rate),
        checkpoints=checkpoints,
        tensorboard=tensorboard,
    )
    answer: TrainAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
def accuracy(
    model: str,
    *,
    data: str | None = None,
    learning_rate: float,
    batch_size: str | list[int] = "32,64,128,256",
    reference_batch: int | None = None,
    rule: RateRule = "gain",
    equal: Equal = "epochs",
    seeds: int = 3,
    tuning_seeds: int = 2,
    noise_scale: float | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> AccuracyAnswer:
    """Train at several batch sizes with several seeds each, and say what a larger batch costs in accuracy.

    `learning_rate` is that of `reference_batch`, the smallest size unless another is named; `rule` makes of it those of
    the other sizes: `"gain"`, `"linear"`, `"sqrt"`, `"none"` or `"tune"`, which looks for each. Further options as for
    `train`.
    """
    from traindyno.app.accuracy import accuracy as use_case
    from traindyno.app.accuracy import accuracy_sizes

    sizes = accuracy_sizes(batch_size if isinstance(batch_size, str) else ",".join(map(str, batch_size)))
    workload, bench = split(without_settings(without_recipe(options)), accuracy, *_RECIPE)
    request = AccuracyRequest(
        workload=workload_of(model, data=data, **workload),
        bench=bench,
        settings=take_settings(options, min(sizes)),
        sizes=sizes,
        recipe=recipe_of(options, learning_rate),
        reference_batch=min(sizes) if reference_batch is None else reference_batch,
        rule=rule,
        equal=equal,
        seeds=seeds,
        noise_scale=noise_scale,
        tuning_seeds=tuning_seeds,
    )
    answer: AccuracyAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
def noise_scale(
    model: str,
    *,
    data: str | None = None,
    learning_rate: float,
    batch_size: int = 64,
    seeds: int = 3,
    micro_batch: int | None = None,
    micro_batches: int = 16,
    readings: int = 50,
    curve_sizes: str | list[int] | None = None,
    largest: int | None = None,
    repeats: int = 3,
    trial_seconds: float = 2.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> NoiseScaleAnswer:
    """Measure how noisy gradients are along a recipe, and say which batch reaches a loss soonest.

    `curve_sizes` are the batches at which the step is timed; without them doubling ones, up to `largest`. Further
    options as for `train`.
    """
    from traindyno.app.noise_scale import curve_sizes as sizes_of
    from traindyno.app.noise_scale import noise_scale as use_case

    workload, bench = split(without_settings(without_recipe(options)), noise_scale, *_RECIPE)
    request = NoiseScaleRequest(
        workload=workload_of(model, data=data, **workload),
        bench=bench,
        settings=take_settings(options, batch_size),
        recipe=recipe_of(options, learning_rate),
        plan=NoisePlan(micro_batch=micro_batch, micro_batches=micro_batches, readings=readings),
        seeds=seeds,
        sizes=sizes_of(None if curve_sizes is None else sweep_of(curve_sizes), largest),
        largest=largest,
        repeats=repeats,
        trial_seconds=trial_seconds,
    )
    answer: NoiseScaleAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
def target(
    model: str,
    *,
    value: float,
    learning_rate: float,
    metric: Metric = "accuracy",
    data: str | None = None,
    batch_size: str | int | list[int] | None = None,
    contenders: str | Iterable[str] = (),
    reference_batch: int | None = None,
    rule: RateRule = "gain",
    noise_scale: float | None = None,
    seeds: int = 6,
    verify: bool = False,
    price_per_hour: float | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> TargetAnswer:
    """Train in several ways until a target is reached, and say which is there first, in time, examples and cost.

    `batch_size` are sizes as on the command line or numbers, `contenders` ways to train by name, such as
    `"large: batch_size=256,precision=bf16,lr=0.2"` or `"two: devices=2"`. The rate is the one of `reference_batch`, the
    smallest batch unless that is given. Further options as for `train`.
    """
    from traindyno.app.target import contenders_of, smallest_batch, target_sizes
    from traindyno.app.target import target as use_case

    workload, bench = split(without_settings(without_recipe(options)), target, *_RECIPE)
    sizes = () if batch_size is None else target_sizes(sweep_of(batch_size))
    settings = take_settings(options, reference_batch or min(sizes, default=64))
    ways = contenders_of(sizes, one_or_several(contenders), settings)
    request = TargetRequest(
        workload=workload_of(model, data=data, **workload),
        bench=bench,
        recipe=recipe_of(options, learning_rate),
        target=Target(metric=metric, value=value),
        contenders=ways,
        seeds=seeds,
        price_per_hour=price_per_hour,
        verify=verify,
        reference_batch=reference_batch or smallest_batch(ways),
        rule=rule,
        noise_scale=noise_scale,
        settings=settings,
    )
    answer: TargetAnswer = ask(use_case, request, store, name, on_event)
    return answer


def recipe_of(options: dict[str, Any], learning_rate: float) -> Recipe:
    """The recipe among free options, its weights known by their content."""
    from traindyno.app.weights import with_weights

    given = {name: value for name, value in options.items() if name in _RECIPE}
    if {"epochs", "steps"} <= set(given):
        raise UsageError("a run has one length, in epochs or in steps", "leave one of the two away")
    if "step_at" in given:
        given["step_at"] = tuple(given["step_at"])
    return with_weights(Recipe(learning_rate=learning_rate, **given))


def without_recipe(options: dict[str, Any]) -> dict[str, Any]:
    """What is left of free options for settings, workload and bench."""
    return {name: value for name, value in options.items() if name not in _RECIPE}
