"""A search for the time to the same loss: what it needs to know, and the command that proves what it predicts."""

import math

import msgspec

from traindyno.app.learning_checks import check_learnable
from traindyno.app.study import Study
from traindyno.core.answers import Finalist, FindAnswer
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe, Target
from traindyno.core.records import Settings
from traindyno.core.requests import Contender, FindRequest, TargetRequest
from traindyno.report.reproduce import request_command

VALUE = "ACCURACY"
"""Stands in the command for what only the user knows."""


def check_objective(request: FindRequest, *, data_is_there: bool) -> None:
    """Refuse what would have no effect, or could only fail later."""
    given = request.noise_scale
    if request.objective == "throughput":
        if given is not None:
            raise UsageError("a noise scale says nothing about examples per second", "add --objective time-to-accuracy")
        return
    if request.workload.mode == "infer":
        raise UsageError("a forward pass learns nothing", "leave --mode infer or --objective away")
    check_learnable(request.workload, is_there=data_is_there)
    _check_batch(request)
    if given is None and request.learning_rate is None:
        raise UsageError(
            "which batch is soonest at the same loss follows from runs that learn, and they need a learning rate",
            "add --learning-rate, or --noise-scale from `traindyno noise-scale`",
        )
    if given is not None and not 0 < given < math.inf:
        raise UsageError(f"a noise scale of {given:g} cannot be", "give what `traindyno noise-scale` tells, above 0")


def _check_batch(request: FindRequest) -> None:
    if "batch_size" in request.keep:
        raise UsageError(
            "with a batch that is kept, whatever is faster is sooner at the same loss too", "leave --objective away"
        )
    if request.local_ranks > 1:
        raise UsageError(
            "the batch of several processes together decides how soon they learn, and only one is looked at here",
            "leave --local-ranks or --objective away",
        )


def recipe_of(request: FindRequest) -> Recipe | None:
    """Runs whose gradients are read; null where nothing need be read."""
    if request.objective == "throughput" or request.noise_scale is not None or request.learning_rate is None:
        return None
    plain = Recipe(learning_rate=request.learning_rate)
    return plain if request.epochs is None else msgspec.structs.replace(plain, epochs=request.epochs)


def proving_command(study: Study, request: FindRequest, answer: FindAnswer) -> str | None:
    """Training to a target at the user's own batch and at the other; null where the two do not differ in that alone."""
    own, free = answer.at_own_batch, answer.with_free_batch
    recipe = recipe_of(msgspec.structs.replace(request, noise_scale=None))
    if free is None or free.data != own.data or answer.noise_scale is None or recipe is None:
        return None
    settings, asked = _settings(own), study.workshop.asked
    proof = TargetRequest(
        workload=msgspec.structs.replace(request.workload, data=own.data),
        bench=msgspec.structs.replace(asked, precision=settings.precision, time_budget_seconds=None),
        recipe=recipe,
        target=Target(metric="accuracy", value=math.nan),
        contenders=tuple(Contender(label=f"batch {each.batch_size}", settings=_settings(each)) for each in (own, free)),
        reference_batch=own.batch_size,
        noise_scale=float(f"{answer.noise_scale:.3g}"),
        settings=settings,
    )
    return f"{request_command(proof).replace('--value nan', f'--value {VALUE}')}{study.store_option}"


def _settings(found: Finalist) -> Settings:
    return msgspec.convert(found.settings, Settings)
