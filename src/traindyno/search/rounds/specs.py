"""A configuration as a trial: every value put where it belongs in the recipe, the workload or the settings."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.round_fields import ARGUMENT
from traindyno.core.round_kinds import field_kinds, is_known
from traindyno.core.rounds import Configuration, Draw, Floor, Value

T = TypeVar("T", bound=Record)


def spec_of(
    request: RoundRequest | AdoptRequest,
    template: TrialSpec,
    configuration: Configuration,
    draw: Draw,
    seed: int,
    floors: tuple[Floor, ...] = (),
) -> TrialSpec:
    """The trial that trains with this configuration, on the template's device and within its limits."""
    precision = template.settings.precision
    settings = msgspec.structs.replace(request.settings, device=template.settings.device, precision=precision)
    spec = msgspec.structs.replace(template, settings=settings, seed=seed, draw=draw, floors=floors)
    job = request.round.job
    if job.function is not None:
        workload = msgspec.structs.replace(template.workload, model=job.function, arguments=dict(configuration))
        return msgspec.structs.replace(spec, kind="job", workload=workload)
    _check_known(configuration)
    # The template knows where the job's own model and data lie.
    as_it_is = {"model": job.model, "data": job.data}
    configuration = {field: value for field, value in configuration.items() if as_it_is.get(field) != value}
    return msgspec.structs.replace(
        spec,
        kind="learn",
        workload=_workload(template.workload, configuration),
        settings=_changed(spec.settings, Settings, configuration),
        recipe=_changed(request.recipe, Recipe, configuration),
    )


def _check_known(configuration: Iterable[str]) -> None:
    for field in configuration:
        if not is_known(field, is_own=False):
            raise UsageError(
                f"{field!r} is nothing that the recipe, the model or the settings have",
                f"name one of {', '.join(sorted(field_kinds()))}, or {ARGUMENT}NAME for an argument of your function",
            )


def _workload(workload: WorkloadSpec, configuration: Configuration) -> WorkloadSpec:
    """The workload with its values. A model from another file has not the content that is known of the first."""
    given = {field[len(ARGUMENT) :]: value for field, value in configuration.items() if field.startswith(ARGUMENT)}
    changed = _changed(workload, WorkloadSpec, configuration)
    same_file = _file(changed.model) == _file(workload.model)
    return msgspec.structs.replace(
        changed,
        arguments={**workload.arguments, **given},
        source_sha256=workload.source_sha256 if same_file else None,
    )


def _file(model: str) -> str:
    return model.partition(".py")[0]


def _changed(record: T | None, kind: type[T], configuration: Mapping[str, Value]) -> T:
    """The record with those of the values that are its own, checked; of values alone where there is none yet."""
    own = {field: value for field, value in configuration.items() if field in kind.__struct_fields__}
    kept = {} if record is None else msgspec.structs.asdict(record)
    try:
        return msgspec.convert({**kept, **own}, type=kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"the round sets a value that cannot be: {error}", "mend it in the round's file") from None
