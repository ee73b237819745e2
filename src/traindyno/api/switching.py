"""Which switches make training faster: `switches`."""

from collections.abc import Sequence
from typing import Any

from traindyno.api.options import ask, split, take_settings, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import SwitchesAnswer
from traindyno.core.events import Emit
from traindyno.core.requests import SwitchesRequest


@speaks_python
def switches(
    model: str,
    *,
    batch_size: int = 64,
    only: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    max_autotune: bool = False,
    combine: bool = True,
    check_losses: bool = True,
    repeats: int = 2,
    trial_seconds: float = 3.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> SwitchesAnswer:
    """Find which switches make training faster, each alone against the baseline and then together.

    `only` and `skip` name switches: `["precision", "compile"]` or `"precision,compile"`. Further options are the
    settings of the baseline (`memory_format`, `compile` and all others of `Settings`), and those of `max_batch`.
    """
    from traindyno.app.switches import switch_names
    from traindyno.app.switches import switches as use_case

    workload_options, bench = split(without_settings(options), switches)
    request = SwitchesRequest(
        workload=workload_of(model, **workload_options),
        bench=bench,
        settings=take_settings(options, batch_size),
        only=switch_names(only),
        skip=switch_names(skip),
        max_autotune=max_autotune,
        combine=combine,
        check_losses=check_losses,
        repeats=repeats,
        trial_seconds=trial_seconds,
    )
    answer: SwitchesAnswer = ask(use_case, request, store, name, on_event)
    return answer
