"""How data comes to the model: `loader` and `stalls`."""

from collections.abc import Sequence
from typing import Any

from traindyno.api.options import ask, one_or_several, split, take_settings, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import LoaderAnswer, StallsAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Emit
from traindyno.core.loading import Decoder
from traindyno.core.requests import LoaderRequest, StallsRequest


@speaks_python
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
    workload_options, bench = split(options, loader)
    request = LoaderRequest(
        workload=workload_of(what.model, data=what.data, **workload_options),
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
    answer: LoaderAnswer = ask(use_case, request, store, name, on_event)
    return answer


@speaks_python
def stalls(
    data: str | None,
    model: str,
    *,
    num_workers: int,
    batch_size: int = 64,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    decoder: Decoder = "pil",
    also: str | Sequence[str] = (),
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

    Further options as for `max_batch`, and settings as for `anatomy`.
    """
    from traindyno.app.stalls import stalls as use_case

    loading = {"num_workers": num_workers, "prefetch_factor": prefetch_factor, "pin_memory": pin_memory}
    settings = take_settings({**options, **loading, "decoder": decoder}, batch_size)
    workload_options, bench = split(without_settings(options), stalls)
    request = StallsRequest(
        workload=workload_of(model, data=data, **workload_options),
        bench=bench,
        settings=settings,
        also=one_or_several(also),
        cold=cold,
        repeats=repeats,
        local_ranks=local_ranks,
        trial_seconds=trial_seconds,
    )
    answer: StallsAnswer = ask(use_case, request, store, name, on_event)
    return answer
