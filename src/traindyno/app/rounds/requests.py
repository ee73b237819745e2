"""From a round's file to what is asked of the ledger and the trials: its job split into workload, settings, recipe."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from traindyno.app.learning_checks import check_learning
from traindyno.app.sources import hash_source
from traindyno.app.weights import with_weights
from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec, is_user_file
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_fields import ARGUMENT
from traindyno.core.round_lints import lint_round
from traindyno.core.round_space import (
    arms_of,
    branches_of,
    configuration_of,
    dimensions_of,
    gate_runs,
    incumbent_of,
    label_of,
    target_value,
    value_at,
)
from traindyno.core.rounds import ALONE, Configuration, Draw, Parameter, Round, Value
from traindyno.search.rounds.specs import spec_of

LOWEST, HIGHEST = 0.0, 1 - 1e-9
IN_THE_FILE = "change it in the round's file"
T = TypeVar("T", bound=Record)


def request_of(round: Round, bench: Bench) -> RoundRequest:
    """What a round asks of trials, with the content of the user's own file; what could only fail later is refused."""
    if round.job.function is not None:
        return _request_of_job(round, bench)
    precision = round.job.values.get("precision", bench.precision)
    request = _request_of_recipe(round, msgspec.structs.replace(bench, precision=precision))
    check_round_request(request)
    return request


def check_round_request(request: RoundRequest) -> None:
    """Refuse what cannot be trained, at the corners of the search."""
    if request.recipe is None:
        return
    template = TrialSpec(
        kind="learn",
        workload=request.workload,
        settings=msgspec.structs.replace(request.settings, device=request.bench.device),
    )
    for place, configuration in corners(request.round):
        draw = Draw(phase="search", arm=ALONE, index=0, values={})
        spec = spec_of(request, template, configuration, draw, seed=0)
        assert spec.recipe is not None, "a recipe's round learns by it"
        try:
            check_learning(spec.workload, spec.settings, spec.recipe, request.bench)
        except UsageError as error:
            raise UsageError(f"{place}: {error.message}", _hint(error)) from None


def corners(round: Round) -> Iterator[tuple[str, Configuration]]:
    """The incumbent, and both ends of all ranges together, in every arm and branch; each with where it is."""
    if gate_runs(round):
        yield "the incumbent", incumbent_of(round)
    for arm in arms_of(round):
        for branch, chosen in branches_of(round, arm).items():
            dimensions = dimensions_of(round, arm, branch)
            known = {**_of_target(round, arm), **chosen}
            place = ", ".join(part for part in (arm, branch) if part != ALONE) or "the search"
            yield f"{place}, all at their lowest", configuration_of(round, known | _at(dimensions, LOWEST))
            yield f"{place}, all at their highest", configuration_of(round, known | _at(dimensions, HIGHEST))


def _at(dimensions: tuple[Parameter, ...], unit: float) -> dict[str, Value]:
    return {each.name: value_at(each, unit) for each in dimensions}


def _of_target(round: Round, arm: str) -> dict[str, Value]:
    value = target_value(round, arm)
    return {} if round.target is None or value is None else {round.target.name: value}


def _request_of_job(round: Round, bench: Bench) -> RoundRequest:
    """A training job of the user's own has neither recipe nor settings that we know of."""
    assert round.job.function is not None
    content = hash_source(round.job.function)
    job = msgspec.structs.replace(round.job, function_sha256=content)
    return RoundRequest(
        workload=WorkloadSpec(model=round.job.function, source_sha256=content),
        bench=bench,
        settings=Settings(batch_size=1, precision=bench.precision),
        round=msgspec.structs.replace(round, job=job),
        lints=lint_round(round),
    )


def _request_of_recipe(round: Round, bench: Bench) -> RoundRequest:
    """What is set by every run has a value here all the same: the incumbent's, or one of the search."""
    _, usual = next(corners(round))
    needed = {field: value for field, value in usual.items() if field in ("model", "learning_rate", "batch_size")}
    job = {"model": round.job.model, "data": round.job.data}
    named = {field: value for field, value in job.items() if value is not None}
    given: Configuration = {**needed, **named, **round.job.values}
    _check_files(round, str(given["model"]))
    arguments = {field[len(ARGUMENT) :]: value for field, value in given.items() if field.startswith(ARGUMENT)}
    workload = _record(WorkloadSpec, given, source_sha256=hash_source(str(given["model"])), arguments=arguments)
    return RoundRequest(
        workload=workload,
        bench=bench,
        settings=_record(Settings, {"precision": bench.precision, **given}),
        recipe=with_weights(_record(Recipe, given)),
        round=round,
        lints=lint_round(round),
    )


def _record(kind: type[T], given: Mapping[str, Value], **further: Any) -> T:
    own = {field: value for field, value in given.items() if field in kind.__struct_fields__}
    try:
        return msgspec.convert({**own, **further}, type=kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"the round's job has a value that cannot be: {error}", IN_THE_FILE) from None


def _check_files(round: Round, model: str) -> None:
    """Code is known by the content of one file, and is named again to go on: another would run unnamed."""
    models = [each.values for each in round.parameters if each.field == "model"]
    named = [label_of(value) for values in models for value in values] + [str(round.incumbent.get("model", model))]
    for other in named:
        if is_user_file(other) and other.partition(".py")[0] != model.partition(".py")[0]:
            raise UsageError(
                f"{other} is not in the file of the job's model, {model}",
                "a round's own models come from one file, which [job] names too",
            )


def _hint(error: UsageError) -> str:
    """A round has no options: what is wrong stands in its file."""
    return IN_THE_FILE if error.hint is None or "--" in error.hint else error.hint
