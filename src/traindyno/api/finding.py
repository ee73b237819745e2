"""The fastest settings: `find`; and whether they still are: `verify`."""

import warnings
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from traindyno.api.options import ask, bench_of, given_settings, one_or_several, split, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE, Context
from traindyno.core.answers import Document, FindAnswer, VerifyAnswer
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Emit
from traindyno.core.learning import Objective
from traindyno.core.records import Settings
from traindyno.core.requests import FindRequest

if TYPE_CHECKING:
    from traindyno.report.exports import Exporter

USUAL = Settings(batch_size=64)
_CALLER_OF_FIND = 6
"""Calls from `_export` up to the line of the user's that is to be blamed: `found`, `ask`, `find` and what it is in."""


@speaks_python
def find(
    model: str,
    data: str | None = None,
    *,
    baseline: str | PathLike[str] = "default",
    batch_size: int | None = None,
    keep: str | Sequence[str] = (),
    batch_range: tuple[int, int] | None = None,
    also: str | Sequence[str] = (),
    prepare: str | PathLike[str] | None = None,
    margin: float = 0.05,
    epochs: float | None = None,
    epoch_examples: int | None = None,
    learning_rate: float | None = None,
    objective: Objective = "throughput",
    noise_scale: float | None = None,
    repeats: int = 3,
    trial_seconds: float = 3.0,
    local_ranks: int = 1,
    time_budget_seconds: float | None = 600.0,
    settings_file: str | PathLike[str] | None = None,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> FindAnswer:
    """Find the fastest settings, proved against the baseline, within the time budget.

    The baseline is a settings file or `default`; settings among the further options (`num_workers`, `precision` and all
    others of `Settings`) win over it. `keep` names what must not change: `["precision=fp32", "data"]`, or in one text.
    `also` is another source of the same examples, or several. `settings_file` is where to write what is recommended,
    for `verify` and `apply`; if that fails at the end, it is only warned of. With the objective `"time-to-accuracy"`
    another batch is recommended where it should reach the same loss sooner, by the gradients' `noise_scale`: given, or
    read in runs with `learning_rate`. Further options as for `max_batch`.
    """
    from traindyno.report.exports import Exporter

    exporter = Exporter.prepare({"toml": None if settings_file is None else fspath(settings_file)})
    bench_options = {**options, "time_budget_seconds": time_budget_seconds}
    request = FindRequest(
        **_trained_now(model, data, fspath(baseline), batch_size, keep, bench_options),
        batch_range=batch_range,
        also=one_or_several(also),
        prepare=None if prepare is None else fspath(prepare),
        margin=margin,
        epochs=epochs,
        epoch_examples=epoch_examples,
        learning_rate=learning_rate,
        repeats=repeats,
        trial_seconds=trial_seconds,
        local_ranks=local_ranks,
        objective=objective,
        noise_scale=noise_scale,
    )
    answer: FindAnswer = ask(_searching(exporter, settings_file), request, store, name, on_event)
    return answer


def _trained_now(
    model: str,
    data: str | None,
    baseline: str,
    batch_size: int | None,
    keep: str | Sequence[str],
    options: dict[str, Any],
) -> dict[str, Any]:
    """Those fields of the request that say what is trained, where, with which settings, and which of them stay."""
    from traindyno.app.baseline import baseline_of
    from traindyno.core.keeping import all_kept, parse_keep

    kept = all_kept(parse_keep(keep))
    start = baseline_of(baseline, USUAL, given_settings(options, batch_size), kept)
    workload_options, bench = split(without_settings(options), find)
    return {
        "workload": workload_of(model, data=data or start.data, **workload_options),
        "bench": msgspec.structs.replace(bench, precision=start.settings.precision),
        "settings": start.settings,
        "keep": tuple(kept),
    }


def _searching(
    exporter: "Exporter", settings_file: str | PathLike[str] | None
) -> Callable[[FindRequest, Context], Document]:
    """The use case, with the settings file written at its end."""
    from traindyno.app.find import find as use_case

    def found(request: FindRequest, context: Context) -> Document:
        document = use_case(request, context, None if settings_file is None else Path(settings_file))
        _export(exporter, document)
        return document

    return found


def _export(exporter: "Exporter", document: Document) -> None:
    """Write the settings file; the answer is there without it too, and took long to find."""
    try:
        exporter.write(document)
    except TraindynoError as error:
        warnings.warn(f"{error.message}; {error.hint}", stacklevel=_CALLER_OF_FIND)


@speaks_python
def verify(
    settings: str | PathLike[str],
    *,
    model: str | None = None,
    data: str | Sequence[str] = (),
    repeats: int = 5,
    trial_seconds: float = 3.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> VerifyAnswer:
    """Measure the settings in a file that `find` wrote against their baseline again.

    Code of your own must be named again as `model`. `data` says where the file's data lies here: one source, or
    `OLD=NEW` for each. Further options are those of the bench, but for the precision.
    """
    from traindyno.app.sources import hash_source
    from traindyno.app.verify import verify as use_case
    from traindyno.app.verify import verify_request

    named = () if model is None else ((model, hash_source(model)),)
    bench = bench_of(options, "verify")
    request = verify_request(
        fspath(settings), bench, named, repeats=repeats, trial_seconds=trial_seconds, data=one_or_several(data)
    )
    answer: VerifyAnswer = ask(use_case, request, store, name, on_event)
    return answer
