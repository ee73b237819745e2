"""What a round would do, in lines: its question, the roles, the arms and branches, the number of runs."""

from collections.abc import Iterator

from traindyno.core.requests import RoundRequest
from traindyno.core.round_space import arms_of, branches_of, dimensions_of, exploits, gate_runs, label_of
from traindyno.core.rounds import ALONE, Parameter, Range, Round
from traindyno.core.units import count_of


def round_lines(request: RoundRequest) -> list[str]:
    """The round as it is understood, what nobody named among it."""
    round = request.round
    job = round.job.function or f"{request.workload.model} on {request.workload.data}"
    wanted = "higher" if round.metric.higher_is_better else "lower"
    return [
        f"job: {job}; {round.metric.name} at its {round.metric.at}, {wanted} is better",
        *(_parameter_line(each) for each in sorted(round.parameters, key=_place)),
        *_arm_lines(round),
        f"runs: {' + '.join(_counts(round))}",
        *(f"note: {lint}" for lint in request.lints),
    ]


def _place(parameter: Parameter) -> int:
    return ("target", "nuisance", "fixed").index(parameter.role)


def _parameter_line(parameter: Parameter) -> str:
    sets = "" if parameter.sets is None else f" (sets {parameter.sets})"
    under = "" if parameter.under is None else f", under {parameter.under[0]}={label_of(parameter.under[1])}"
    return f"{parameter.role}: {parameter.name}{sets} {_domain(parameter)}{under}{_why(parameter)}"


def _domain(parameter: Parameter) -> str:
    if parameter.value is not None:
        return f"= {label_of(parameter.value)}"
    return _span(parameter.range) if parameter.range is not None else ", ".join(map(label_of, parameter.values))


def _span(within: Range) -> str:
    whole = ", whole numbers" if within.integer else ""
    return f"{within.low:g} to {within.high:g}, {within.scale}{whole}"


def _why(parameter: Parameter) -> str:
    if parameter.role == "fixed":
        return "" if parameter.caveat is None else f": {parameter.caveat}"
    return "" if parameter.said else " (by a rule of thumb)"


def _arm_lines(round: Round) -> Iterator[str]:
    for arm in arms_of(round):
        branches = branches_of(round, arm)
        for branch in branches:
            names = ", ".join(each.name for each in dimensions_of(round, arm, branch)) or "nothing to draw"
            place = ", ".join(part for part in (arm, branch) if part != ALONE) or "all"
            yield f"arm {place}: {names}"


def _counts(round: Round) -> Iterator[str]:
    arms, budget = len(arms_of(round)), round.budget
    if gate_runs(round):
        yield f"{gate_runs(round)} of the incumbent"
    if budget.trials is not None:
        yield f"{budget.trials} in each of {count_of(arms, 'arm')}" if arms > 1 else f"{budget.trials} of the search"
    if exploits(round):
        each = f" in each of {count_of(arms, 'arm')}" if arms > 1 else ""
        yield f"{round.then_trials} by {(round.then or '').upper()}{each}"
    if budget.hours is not None:
        yield f"as many as {budget.hours:g} hours of runs hold"
