"""What may change in a round that has runs already: how much is searched and where, not what is asked."""

from collections.abc import Iterator

from traindyno.core.errors import UsageError
from traindyno.core.requests import RoundRequest
from traindyno.core.rounds import Configuration, Parameter, Round


def agreed_round(before: RoundRequest, asked: RoundRequest) -> RoundRequest:
    """What a round is asked from now on. Its runs so far are kept, so they must be runs of the same question.

    Ranges, values, the budget and how the search goes on may change, and so may what is fixed from now on. The gate may
    have more runs, but not fewer.
    """
    _check_code(before, asked)
    for part, then, now in _differences(before, asked):
        raise UsageError(
            f"the round {before.round.name!r} was begun with {part} {then}; here it is {now}",
            f"keep its runs apart: {_another_name(asked.round)}",
        )
    same = (before.round, before.lints) == (asked.round, asked.lints)
    return before if same else asked


def _check_code(before: RoundRequest, asked: RoundRequest) -> None:
    own, content = before.workload.model, before.workload.source_sha256
    if own == asked.workload.model and content != asked.workload.source_sha256:
        raise UsageError(
            f"{own} has changed since the round {before.round.name!r} was begun",
            f"keep the runs of both apart: {_another_name(asked.round)}",
        )


def _another_name(round_: Round) -> str:
    """How to give it one. What a campaign begins with is asked without a file as a rule."""
    in_file = "give this one another `name` in its file"
    return f"add --name NAME to `round first`, or {in_file}" if round_.goal.kind == "initial" else in_file


def _differences(before: RoundRequest, asked: RoundRequest) -> Iterator[tuple[str, object, object]]:
    then, now = before.round, asked.round
    set_by_parameters = {each.field for round in (then, now) for each in round.parameters}
    pairs = [
        ("the goal", then.goal.kind, now.goal.kind),
        ("the model", then.job.model, now.job.model),
        ("the data", then.job.data, now.job.data),
        ("the job", then.job.function, now.job.function),
        *(each for each in _of_values("", then.job.values, now.job.values) if each[0] not in set_by_parameters),
        ("other weights:", _weights(before), _weights(asked)),
        ("the metric", then.metric.name, now.metric.name),
        ("a metric whose higher values are better:", then.metric.higher_is_better, now.metric.higher_is_better),
        ("the metric at", then.metric.at, now.metric.at),
        ("the campaign", then.campaign, now.campaign),
        ("so many runs of the gate:", then.seeds.gate, min(then.seeds.gate, now.seeds.gate)),
        *_of_values("the incumbent's ", then.incumbent, now.incumbent),
        ("the seed", before.bench.seed, asked.bench.seed),
        ("the precision", before.bench.precision, asked.bench.precision),
        ("runs on", _place(before), _place(asked)),
        *_of_parameters(then, now),
    ]
    yield from (pair for pair in pairs if pair[1] != pair[2])


def _of_values(what: str, then: Configuration, now: Configuration) -> Iterator[tuple[str, object, object]]:
    for field in dict.fromkeys((*then, *now)):
        yield f"{what}{field}", then.get(field, "not given"), now.get(field, "not given")


def _of_parameters(then: Round, now: Round) -> Iterator[tuple[str, object, object]]:
    yield "the target", _name(then.target), _name(now.target)
    before, after = ({each.name: each for each in round.parameters} for round in (then, now))
    for name in dict.fromkeys((*before, *after)):
        first, second = before.get(name), after.get(name)
        if first is None or second is None:
            yield f"the parameter {name}", first is not None, second is not None
            continue
        yield f"{name} setting", first.field, second.field
        yield f"{name} under", first.under, second.under
        if first.role == "fixed":
            yield f"{name} fixed at", first.value, second.value if second.role == "fixed" else second.role


def _name(parameter: Parameter | None) -> str:
    return "none" if parameter is None else parameter.name


def _weights(request: RoundRequest) -> str | None:
    return None if request.recipe is None else request.recipe.weights_sha256


def _place(request: RoundRequest) -> str:
    """`cpu`, `cuda` or `simulated`: scores of different kinds are not mixed."""
    return request.bench.device.partition(":")[0]
