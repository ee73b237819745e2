"""`round new`: a round's file from a few wishes, everything else by rules of thumb, with the reasons for it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from traindyno.analysis.rounds.enough import FEWEST_TRIALS, enough_trials
from traindyno.app.rounds.files import write_round
from traindyno.app.rounds.wishes import (
    Wishes,
    comments_on,
    proposed_question,
    reasons_for,
    simulated_note,
    usual_gain,
)
from traindyno.app.source_checks import check_source
from traindyno.core.answers.rounds import DraftAnswer
from traindyno.core.errors import UsageError
from traindyno.core.records import is_user_file
from traindyno.core.round_checks import COMMON
from traindyno.core.round_defaults import UNSAID_NUISANCES, brings_data
from traindyno.core.round_fields import is_argument, rule_of, usual_range
from traindyno.core.round_file import round_of
from traindyno.core.round_kinds import is_known
from traindyno.core.round_lints import lint_round
from traindyno.core.round_parameters import usual_scale
from traindyno.core.round_space import same
from traindyno.core.round_words import parse_assignment, parse_choices, parse_searched
from traindyno.core.rounds import Configuration, Parameter, Round

T = TypeVar("T")
FIRST_MODEL, FIRST_DATA = "mlp:64", "digits:"
"""What a round is about where nobody names anything: small enough for any machine."""
_FIRST_OPTIMIZER = "sgd"
_SETTLED = {"optimizer": _FIRST_OPTIMIZER, "batch_size": 64, "epochs": 10.0}


def adopted_before(campaign: str, store: str) -> Configuration:
    """The configuration that the campaign adopted last; empty where it has adopted none."""
    from traindyno.app.rounds.ledger import current_configuration

    return current_configuration(store, campaign) or {}


def simulated_before(campaign: str, store: str) -> tuple[str, ...]:
    """The rounds of the campaign that changed something by simulated runs alone."""
    from traindyno.app.rounds.ledger import ledger

    return tuple(each.round for each in ledger(store, campaign).entries if each.simulated and each.changes)


def propose(wishes: Wishes, path: str | os.PathLike[str], current: Mapping[str, Any]) -> Round:
    """The round that the wishes come to, with every proposal spelt out. `current` is what was adopted last."""
    content = _content(wishes, path, current)
    is_open = wishes.trials is None and wishes.hours is None
    content["budget"] = {"trials": FEWEST_TRIALS} if is_open else _given(trials=wishes.trials, hours=wishes.hours)
    found = round_of(content, os.fspath(path))
    if is_open:
        content["budget"] = {"trials": enough_trials(found)}
        found = round_of(content, os.fspath(path))
    if found.job.function is None and not brings_data(found.job):
        check_source(found.job.data, "the job", is_there=False)
    return msgspec.structs.replace(found, parameters=_in_order([_spelt_out(each) for each in found.parameters]))


def draft(
    wishes: Wishes,
    path: str | os.PathLike[str],
    current: Mapping[str, Any],
    *,
    force: bool = False,
    simulated: Sequence[str] = (),
) -> DraftAnswer:
    """Write the proposed round's file, and say why it is as it is. `simulated` are rounds that `current` rests on."""
    round_ = propose(wishes, path, current)
    comments, notes = comments_on(round_), simulated_note(simulated)
    head = "\n".join((comments[""], *(f"Note: {note}." for note in notes)))
    text = write_round(path, round_, {**comments, "": head}, force=force)
    reasons = reasons_for(round_, wishes, current)
    return DraftAnswer(path=os.fspath(path), text=text, reasons=reasons, lints=(*notes, *lint_round(round_)))


def _content(wishes: Wishes, path: str | os.PathLike[str], current: Mapping[str, Any]) -> dict[str, Any]:
    """What the file would say, as tables."""
    is_own = wishes.function is not None
    targets = _each_once(parse_choices(each, is_own) for each in wishes.targets)
    nuisances = _each_once(parse_searched(each, is_own) for each in wishes.nuisances)
    fixed = _each_once(parse_assignment(each, is_own) for each in wishes.fixed)
    incumbent = _each_once(parse_assignment(each, is_own) for each in wishes.incumbent)
    goal = wishes.goal or ("helps" if targets else "maximise")
    firsts = {field: values[0] for field, values in targets.items()}
    tuned = {*nuisances, *fixed, *(() if is_own else UNSAID_NUISANCES)}
    adopted = {name: value for name, value in current.items() if name not in tuned}
    job = _own_job(wishes, adopted) if is_own else _recipe_job(wishes, goal, {**firsts, **adopted})
    kept = {name: value for name, value in current.items() if name not in {*fixed, *COMMON}}
    kept = {name: value for name, value in kept.items() if not same(job.get(name), value)}
    said = {name: value for name, value in _given(**wishes.job).items() if name in nuisances}
    metric = wishes.metric or "accuracy"
    return {
        **_given(name=wishes.name or Path(path).stem, campaign=wishes.campaign, minimum_gain=_gain(wishes, metric)),
        "goal": _given(kind=goal, question=wishes.question or proposed_question(goal, targets)),
        "job": {name: value for name, value in job.items() if name not in {*fixed, *nuisances}},
        "metric": _given(name=metric, higher_is_better=wishes.higher_is_better),
        "target": {field: {"values": values} for field, values in targets.items()},
        "nuisance": nuisances,
        "fixed": {field: {"value": value} for field, value in fixed.items()},
        "incumbent": {**_unknown(firsts, job), **_begun(nuisances, is_own), **kept, **said, **incumbent},
    }


def _each_once(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in named:
        if name in found:
            raise UsageError(f"{name} is given twice", "give it once")
        found[name] = value
    return found


def _begun(nuisances: Mapping[str, Mapping[str, Any]], is_own: bool) -> dict[str, Any]:
    """Something from the range of what is searched and nobody gives a value; the recipe's own fields have one."""
    for name, table in nuisances.items():
        if not table and is_known(name, is_own) and not rule_of(name).ranges:
            raise UsageError(f"{name} has no usual range", f"say it: {name}=LOW..HIGH, or {name}=1,2,4")
    unknown = {name: table for name, table in nuisances.items() if is_own or is_argument(name)}
    return {name: _middle(name, table or _usual(name)) for name, table in unknown.items()}


def _unknown(firsts: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in firsts.items() if name not in job}


def _own_job(wishes: Wishes, adopted: Mapping[str, Any]) -> dict[str, Any]:
    return {"function": wishes.function, **adopted, **_given(**wishes.job)}


def _recipe_job(wishes: Wishes, goal: str, adopted: Mapping[str, Any]) -> dict[str, Any]:
    """What is trained: as was said, else as was adopted, else what is usual to begin with."""
    said = _given(**wishes.job)
    begun = {"schedule": "constant" if goal == "initial" else "cosine"}
    job = {"model": FIRST_MODEL, "data": None, **_SETTLED, **begun, **adopted, **said}
    if "steps" in said or ("steps" in adopted and "epochs" not in said):
        job.pop("epochs")
    elif "steps" in adopted:
        job.pop("steps")
    if job["data"] is None and not is_user_file(str(job["model"])):
        job["data"] = FIRST_DATA
    return _given(**job)


def _usual(field: str) -> dict[str, Any]:
    usual: dict[str, Any] = msgspec.to_builtins(usual_range(field, _FIRST_OPTIMIZER))
    return usual


def _middle(field: str, table: Mapping[str, Any]) -> Any:
    """Something to begin with where nobody says what is trained with now."""
    if "values" in table:
        return table["values"][0]
    middle = (table["low"] + table["high"]) / 2
    if table.get("scale", usual_scale(field, table["low"])) == "log" and table["low"] > 0:
        middle = (table["low"] * table["high"]) ** 0.5
    return round(middle) if table.get("integer") else float(f"{middle:.2g}")


def _gain(wishes: Wishes, metric: str) -> float | None:
    return usual_gain(metric) if wishes.minimum_gain is None else wishes.minimum_gain


def _spelt_out(parameter: Parameter) -> Parameter:
    """A proposal that is written into the file is said; what the job fixes stays with the job."""
    return msgspec.structs.replace(parameter, said=True) if parameter.role == "nuisance" else parameter


def _in_order(parameters: list[Parameter]) -> tuple[Parameter, ...]:
    roles = ("target", "nuisance", "fixed")
    return tuple(sorted(parameters, key=lambda each: (roles.index(each.role), not each.said)))


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
