"""How large a batch, how fast, how long: `max_batch`, `throughput`, `plan`, `compare`."""

from functools import partial
from typing import Any

from traindyno.api.options import ask, split, sweep_of, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import CompareAnswer, MaxBatchAnswer, PlanAnswer, ThroughputAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Emit
from traindyno.core.records import is_user_file
from traindyno.core.requests import Choice, MaxBatchRequest, PlanRequest, ThroughputRequest


@speaks_python
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
    workload_options, bench = split(options, max_batch)
    request = MaxBatchRequest(
        workloads=tuple(workload_of(each, **workload_options) for each in models),
        bench=bench,
        tolerance=tolerance,
        exact=exact,
        limit=limit,
        margin=margin,
        effective_batch=effective_batch,
    )
    answer: MaxBatchAnswer | tuple[MaxBatchAnswer, ...] = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
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
    answer: ThroughputAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
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
    answer: PlanAnswer = ask(partial(use_case, named_again=named_again), request, store, name, on_event)
    return answer


@speaks_python
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
    sweep = sweep_of(batch_size)
    workload_options, bench = split(options)
    return ThroughputRequest(
        workload=workload_of(model, **workload_options),
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
