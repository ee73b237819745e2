"""What a round's file leaves unsaid: nuisances by rules of thumb, and what the job fixes, with its caveat."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from traindyno.core.records import is_user_file
from traindyno.core.round_fields import USUAL_RATES, automatic_caveat, usual_range
from traindyno.core.round_kinds import job_value
from traindyno.core.round_rules import RULES
from traindyno.core.rounds import Goal, Parameter, Range, Round, RoundJob, Value

UNSAID_NUISANCES = ("learning_rate", "momentum", "weight_decay", "label_smoothing")
"""What a recipe is tuned in. Clipping and a warm-up are added by whoever asks for them."""
BEGUN_WITH = ("learning_rate",)
"""What an initial configuration needs; everything else is left away or as usual."""
ALWAYS_FIXED = ("model", "data", "optimizer", "schedule", "batch_size")


def with_defaults(round_: Round) -> Round:
    """The round with everything that was not said, settled anew from what was."""
    said = tuple(each for each in round_.parameters if each.said)
    unsaid = tuple(_unsaid(said, round_.job, round_.goal))
    return msgspec.structs.replace(round_, parameters=(*said, *unsaid), incumbent=_incumbent(round_, (*said, *unsaid)))


def brings_data(job: RoundJob) -> bool:
    """Whether the user's own file makes the examples too, so that there is no source of them to name."""
    return job.function is None and job.model is not None and is_user_file(job.model) and job.data == RoundJob().data


def job_optimizer(job: RoundJob) -> str:
    return str(job_value(job, "optimizer"))


def _unsaid(said: Sequence[Parameter], job: RoundJob, goal: Goal) -> Iterator[Parameter]:
    fixed = list(job.values)
    if job.function is None:
        searched = [each for each in UNSAID_NUISANCES if each not in job.values and _is_tunable(each, job)]
        wanted = [each for each in searched if goal.kind != "initial" or each in BEGUN_WITH]
        for field in wanted:
            yield from _nuisances(field, said, job)
        length = () if "steps" in job.values else ("epochs",)
        fixed = list(dict.fromkeys((*ALWAYS_FIXED, *length, *job.values, *(set(searched) - set(wanted)))))
        fixed = [each for each in fixed if each != "data" or not brings_data(job)]
    for field in sorted(fixed, key=_place):
        value = job_value(job, field)
        if value is not None and not any(each.field == field for each in said) and _matters(field, said, job):
            caveat = automatic_caveat(field, value)
            yield Parameter(**_named(field, said), role="fixed", value=value, caveat=caveat, said=False)


def _place(field: str) -> int:
    known = list(dict.fromkeys((*ALWAYS_FIXED, *RULES)))
    return known.index(field) if field in known else len(known)


def _is_tunable(field: str, job: RoundJob) -> bool:
    """Code of the user's own may have a loss of its own, which is not smoothed."""
    return field != "label_smoothing" or job.model is None or not is_user_file(job.model)


def _matters(field: str, said: Sequence[Parameter], job: RoundJob) -> bool:
    needs = RULES[field].matters_with if field in RULES else None
    if needs is None or job.function is not None:
        return True
    chosen = [value for each in said if each.field == needs[0] for value in (*each.values, each.value)]
    return needs[1] in (chosen or [job_value(job, needs[0])])


def _nuisances(field: str, said: Sequence[Parameter], job: RoundJob) -> Iterator[Parameter]:
    """One for all, or one under each optimiser where the optimiser is chosen and the range depends on it."""
    own = [each for each in said if each.field == field]
    if any(each.under is None for each in own):
        return
    parents = [each for each in said if each.field == "optimizer" and each.role != "fixed"]
    if not parents:
        optimizer = next((str(each.value) for each in said if each.field == "optimizer"), job_optimizer(job))
        found = usual_range(field, optimizer)
        if found is not None and not own:
            yield Parameter(**_named(field, said), role="nuisance", range=found, said=False)
        return
    yield from _by_optimizer(field, own, parents, said)


def _by_optimizer(
    field: str, own: Sequence[Parameter], parents: Sequence[Parameter], said: Sequence[Parameter]
) -> Iterator[Parameter]:
    for parent in parents:
        ranges = {value: usual_range(field, str(value)) for value in parent.values}
        if len(parents) == 1 and not own and len(set(ranges.values())) == 1 and None not in ranges.values():
            (found,) = set(ranges.values())
            yield Parameter(**_named(field, said), role="nuisance", range=found, said=False)
            continue
        taken = [each.under[1] for each in own if each.under is not None and each.under[0] == parent.name]
        for value, found in ranges.items():
            if found is not None and value not in taken:
                yield _under(parent, value, field, found, said)


def _under(parent: Parameter, value: Value, field: str, found: Range, said: Sequence[Parameter]) -> Parameter:
    before = "" if parent.name == "optimizer" else f"{parent.name}_"
    name = _free(f"{before}{value}_{field}", said)
    return Parameter(name=name, role="nuisance", range=found, sets=field, under=(parent.name, value), said=False)


def _named(field: str, said: Sequence[Parameter]) -> dict[str, Any]:
    name = _free(field, said)
    return {"name": name, "sets": None if name == field else field}


def _free(name: str, said: Sequence[Parameter]) -> str:
    """The name itself, unless somebody else in the round has it."""
    return _free(f"{name}_", said) if any(each.name == name for each in said) else name


def _incumbent(round_: Round, parameters: Sequence[Parameter]) -> dict[str, Value]:
    """What there is to beat has a rate: the usual one of its optimiser, if nobody says another."""
    job, incumbent = round_.job, dict(round_.incumbent)
    rates = [each for each in parameters if each.field == "learning_rate" and each.role != "fixed"]
    is_told = "learning_rate" in {*incumbent, *job.values}
    if is_told or not rates or job.function is not None or round_.goal.kind == "initial":
        return incumbent
    optimizer = str(incumbent.get("optimizer", _fixed_value("optimizer", parameters) or job_optimizer(job)))
    fitting = [each for each in rates if each.under is None or each.under[1] == optimizer] or rates
    return {**incumbent, "learning_rate": _within(fitting[0], USUAL_RATES[optimizer])}


def _fixed_value(field: str, parameters: Sequence[Parameter]) -> Value | None:
    return next((each.value for each in parameters if each.field == field and each.role == "fixed"), None)


def _within(parameter: Parameter, usual: float) -> Value:
    """The usual rate, or one from the middle of what is searched where that is far from it."""
    if parameter.range is None:
        return parameter.values[len(parameter.values) // 2]
    low, high = parameter.range.low, parameter.range.high
    return usual if low <= usual <= high else float(f"{(low * high) ** 0.5:.2g}")
