"""What happens inside a step: `anatomy`; and in many of them: `soak`."""

from typing import Any

from traindyno.api.options import ask, split, sweep_of, take_settings, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import AnatomyAnswer, SoakAnswer
from traindyno.core.events import Emit
from traindyno.core.requests import AnatomyRequest, SoakRequest


@speaks_python
def anatomy(
    model: str,
    *,
    batch_size: str | int | list[int] = 64,
    from_loader: bool | None = None,
    repeats: int = 3,
    trace: str | None = None,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> AnatomyAnswer:
    """Take the training step apart: what each phase costs, per step and per example, and what the limit is.

    Of several batch sizes (`[1, 8, 64]` or `"16..256"`) the answer is about the largest, and has the others beside it.
    `from_loader` is true where data is named, unless said otherwise. Further options are the settings of the run
    (`num_workers`, `prefetch_factor`, `pin_memory`, `decoder`, `memory_format`, `compile` and all others of
    `Settings`), and those of `max_batch`.
    """
    from traindyno.app.anatomy import anatomy as use_case
    from traindyno.app.anatomy import anatomy_sizes, loads_by_default

    largest, others = anatomy_sizes(sweep_of(batch_size))
    workload_options, bench = split(without_settings(options), anatomy)
    workload = workload_of(model, **workload_options)
    request = AnatomyRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(options, largest),
        sizes=others,
        from_loader=loads_by_default(workload) if from_loader is None else from_loader,
        repeats=repeats,
        trial_seconds=trial_seconds,
        trace=trace,
    )
    answer: AnatomyAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
def soak(
    model: str,
    *,
    minutes: float = 10.0,
    batch_size: int = 64,
    from_loader: bool | None = None,
    epoch_examples: int | None = None,
    price_per_hour: float | None = None,
    price_per_kwh: float | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> SoakAnswer:
    """Train for minutes and say whether it stays as fast: heat, power limit, pauses, neighbours, energy.

    `from_loader` is true where data is named, unless said otherwise. Further options as for `anatomy`.
    """
    from traindyno.app.anatomy import loads_by_default
    from traindyno.app.soak import soak as use_case

    workload_options, bench = split(without_settings(options), soak)
    workload = workload_of(model, **workload_options)
    request = SoakRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(options, batch_size),
        run_seconds=60 * minutes,
        from_loader=loads_by_default(workload) if from_loader is None else from_loader,
        epoch_examples=epoch_examples,
        price_per_hour=price_per_hour,
        price_per_kwh=price_per_kwh,
    )
    answer: SoakAnswer = ask(use_case, request, store, name, on_event)
    return answer
