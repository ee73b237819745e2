"""The Python API: the same use cases as the command line, returning the same answers."""

from typing import Any, TypeVar

import msgspec

from traindyno.app.context import DEFAULT_STORE, Context
from traindyno.core.answers import (
    CompareAnswer,
    LoaderAnswer,
    MaxBatchAnswer,
    PlanAnswer,
    StallsAnswer,
    ThroughputAnswer,
)
from traindyno.core.errors import UsageError
from traindyno.core.events import Emit
from traindyno.core.loading import Decoder
from traindyno.core.records import Mode, OptimizerName, Settings, WorkloadSpec, is_user_file
from traindyno.core.requests import (
    Bench,
    Choice,
    LoaderRequest,
    MaxBatchRequest,
    PlanRequest,
    StallsRequest,
    ThroughputRequest,
)
from traindyno.core.sweeps import parse_sweep

R = TypeVar("R", MaxBatchRequest, ThroughputRequest, PlanRequest, LoaderRequest, StallsRequest)


def max_batch(
    model: str | list[str],
    *,
    tolerance: float = 0.01,
    exact: bool = False,
    limit: int | None = None,
    margin: float = 0.05,
    effective_batch: int | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> MaxBatchAnswer | tuple[MaxBatchAnswer, ...]:
    """Find the largest batch that fits; several models give several answers.

    Options beyond these describe the workload (`mode`, `data`, `skip_bad`, `image_size`, `classes`, `optimizer`,
    `conv1_stride`) and the bench (`device`, `precision`, `seed`, `runner`, `time_budget_seconds`, `memory_limit_bytes`,
    `step_timeout_seconds`, `trial_timeout_seconds`).
    """
    from traindyno.app.max_batch import max_batch as use_case

    models = [model] if isinstance(model, str) else model
    workload_options, bench = _split(options)
    request = MaxBatchRequest(
        workloads=tuple(_workload(each, **workload_options) for each in models),
        bench=bench,
        tolerance=tolerance,
        exact=exact,
        limit=limit,
        margin=margin,
        effective_batch=effective_batch,
    )
    document = use_case(_checked(request), _context(store, name, on_event))
    answer: MaxBatchAnswer | tuple[MaxBatchAnswer, ...] = document.answer
    return answer


def throughput(
    model: str,
    *,
    batch_size: str | int | list[int] = "max",
    refine: bool = True,
    repeats: int = 3,
    choose: Choice = "recommended",
    margin: float = 0.05,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> ThroughputAnswer:
    """Measure examples per second against batch size. Further options as for `max_batch`."""
    from traindyno.app.throughput import throughput as use_case

    request = _curve(model, batch_size, refine, repeats, choose, margin, trial_seconds, options)
    answer: ThroughputAnswer = use_case(_checked(request), _context(store, name, on_event)).answer
    return answer


def plan(
    model: str | None = None,
    *,
    examples: int,
    epochs: float,
    from_study: str | None = None,
    eval_every_epochs: float | None = None,
    eval_examples: int | None = None,
    price_per_hour: float | None = None,
    validate: bool = False,
    validate_seconds: float = 60.0,
    batch_size: str | int | list[int] = "max",
    refine: bool = True,
    repeats: int = 3,
    margin: float = 0.05,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> PlanAnswer:
    """Predict training time, from the curve of an earlier study or one that is measured now.

    To validate the curve of a study of your own file, give that file as `model` beside `from_study`.
    """
    from traindyno.app.plan import plan as use_case
    from traindyno.app.sources import hash_source

    again = model is not None and from_study is not None and validate and is_user_file(model)
    if (model is None) == (from_study is None) and not again:
        raise UsageError("a plan needs a model or a study", "give model=... or from_study=..., not both")
    curve = None
    if model is not None and from_study is None:
        curve = _curve(model, batch_size, refine, repeats, "recommended", margin, trial_seconds, options)
    request = PlanRequest(
        examples=examples,
        epochs=epochs,
        curve=curve,
        from_study=from_study,
        eval_every_epochs=eval_every_epochs,
        eval_examples=eval_examples,
        price_per_hour=price_per_hour,
        validate=validate,
        validate_seconds=validate_seconds,
    )
    named_again = ((model, hash_source(model)),) if again and model is not None else ()
    answer: PlanAnswer = use_case(_checked(request), _context(store, name, on_event), named_again).answer
    return answer


def loader(
    data: str | None = None,
    model: str | None = None,
    *,
    batch_size: int | list[int] = 64,
    workers: list[int] | None = None,
    grid: bool = False,
    cpus: list[int] | None = None,
    decoder: Decoder | None = None,
    epoch_examples: int | None = None,
    local_ranks: int = 1,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> LoaderAnswer:
    """Find how many loader workers, with which settings, feed the training. Without a model the loader is alone.

    `data` may be left away for a `file.py:function` with a dataset or loader of its own. Several batch sizes need
    `grid=True`. Further options as for `max_batch`.
    """
    from traindyno.app.loader import loader as use_case
    from traindyno.app.loader_workload import loaded

    sizes = (batch_size,) if isinstance(batch_size, int) else tuple(sorted(set(batch_size)))
    if not sizes or (len(sizes) > 1 and not grid):
        raise UsageError("the search takes one batch size", "give one, or grid=True to measure them all")
    what = loaded(model, data)
    workload_options, bench = _split(options)
    request = LoaderRequest(
        workload=_workload(what.model, data=what.data, **workload_options),
        bench=bench,
        batch_size=sizes[0],
        with_model=what.with_model,
        workers=None if workers is None else tuple(workers),
        sizes=sizes if grid else None,
        grid=grid,
        cpus=tuple(cpus or ()),
        decoder=decoder,
        epoch_examples=epoch_examples,
        local_ranks=local_ranks,
        trial_seconds=trial_seconds,
    )
    answer: LoaderAnswer = use_case(_checked(request), _context(store, name, on_event)).answer
    return answer


def stalls(
    data: str | None,
    model: str,
    *,
    num_workers: int,
    batch_size: int = 64,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    decoder: Decoder = "pil",
    also: list[str] | None = None,
    cold: bool = True,
    repeats: int = 3,
    local_ranks: int = 1,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> StallsAnswer:
    """Say what training waits for. `data` is null for a `file.py:function` with data of its own.

    Further options as for `max_batch`.
    """
    from traindyno.app.stalls import stalls as use_case

    workload_options, bench = _split(options)
    request = StallsRequest(
        workload=_workload(model, data=data, **workload_options),
        bench=bench,
        settings=Settings(
            batch_size=batch_size,
            precision=bench.precision,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
            pin_memory=pin_memory,
            decoder=decoder,
        ),
        also=tuple(also or ()),
        cold=cold,
        repeats=repeats,
        local_ranks=local_ranks,
        trial_seconds=trial_seconds,
    )
    answer: StallsAnswer = use_case(_checked(request), _context(store, name, on_event)).answer
    return answer


def compare(a: str, b: str, *, store: str = DEFAULT_STORE) -> CompareAnswer:
    """Set two studies or exported JSON files side by side."""
    from traindyno.app.compare import compare as use_case

    answer: CompareAnswer = use_case(a, b, store).answer
    return answer


def _curve(
    model: str,
    batch_size: str | int | list[int],
    refine: bool,
    repeats: int,
    choose: Choice,
    margin: float,
    trial_seconds: float,
    options: dict[str, Any],
) -> ThroughputRequest:
    sizes = [batch_size] if isinstance(batch_size, int) else batch_size
    sweep = parse_sweep(sizes if isinstance(sizes, str) else ",".join(map(str, sizes)))
    workload_options, bench = _split(options)
    return ThroughputRequest(
        workload=_workload(model, **workload_options),
        bench=bench,
        sizes=sweep.sizes,
        smallest=sweep.smallest,
        largest=sweep.largest,
        refine=refine,
        repeats=repeats,
        choose=choose,
        margin=margin,
        trial_seconds=trial_seconds,
    )


def _checked(request: R) -> R:
    """Refuse values of the wrong type or out of range before anything is measured."""
    try:
        msgspec.convert(msgspec.to_builtins(request), type(request))
    except msgspec.ValidationError as error:
        raise UsageError(f"an option has a wrong value: {error}", "see help(traindyno.max_batch)") from None
    margin = getattr(request, "margin", 0.0)
    if not 0 <= margin < 1:
        raise UsageError(f"a margin of {margin} is no share of memory", "write 5 % as 0.05")
    return request


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], Bench]:
    """Sort free options into those of the workload and those of the bench; unknown names are refused."""
    workload = {name: options.pop(name) for name in _WORKLOAD_OPTIONS if name in options}
    unknown = set(options) - set(Bench.__struct_fields__)
    if unknown:
        known = ", ".join((*_WORKLOAD_OPTIONS, *Bench.__struct_fields__))
        raise UsageError(f"there is no option {', '.join(sorted(unknown))}", f"known options: {known}")
    return workload, Bench(**{"device": "auto", **options})


_WORKLOAD_OPTIONS = ("mode", "data", "skip_bad", "image_size", "classes", "optimizer", "conv1_stride")


def _workload(
    model: Any,
    mode: Mode = "train",
    image_size: int | None = None,
    classes: int | None = None,
    optimizer: OptimizerName = "sgd",
    conv1_stride: int | None = None,
    data: str | None = None,
    skip_bad: bool = False,
) -> WorkloadSpec:
    from traindyno.app.sources import hash_source

    if not isinstance(model, str):
        raise UsageError(
            "a model object cannot be rebuilt in a fresh process",
            "write a function that builds it to a file and pass 'file.py:function'",
        )
    return WorkloadSpec(
        model=model,
        mode=mode,
        data="synthetic:" if data is None else data,
        image_size=image_size,
        classes=classes,
        optimizer=optimizer,
        conv1_stride=conv1_stride,
        source_sha256=hash_source(model),
        skip_bad=skip_bad,
    )


def _context(store: str, name: str | None, on_event: Emit | None) -> Context:
    return Context(store=store, name=name) if on_event is None else Context(store=store, name=name, emit=on_event)
