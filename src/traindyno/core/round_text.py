"""A round as text: one table for each part, with a line on what it is for, and what was settled unsaid as comments."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from traindyno.core.round_defaults import brings_data, with_defaults
from traindyno.core.round_fields import rule_of
from traindyno.core.round_space import label_of
from traindyno.core.rounds import Parameter, Round, RoundJob
from traindyno.core.toml_text import toml_key, toml_lines

_WIDTH = 110
_GOALS = {
    "helps": "Does the target help, beyond chance and by more than the minimum gain?",
    "effect": "What does the target do, with the nuisances tuned for each of its values?",
    "maximise": "The best score that the nuisances can give.",
    "initial": "A configuration to begin with: nothing extra, and short runs.",
}
_ABOUT = {
    "job": "What is trained. What stands here is the same in all runs, unless a table below changes it.",
    "metric": "What runs are compared by.",
    "budget": "How much is searched.",
    "seeds": "Runs of the incumbent before the search, and fresh runs of each candidate when one is to be adopted.",
    "target": "The question: an arm of its own for each value.",
    "nuisance": "Tuned anew in every arm, so that arms are compared at their best.",
    "fixed": "Not searched; each with what that leaves open.",
    "incumbent": "What there is to beat.",
}

_TUNED_ALONE = "Tuned together for the best score."


def format_round(round_: Round, comments: Mapping[str, str] | None = None) -> str:
    """The file's text, which reads back as the same round.

    `comments` are further lines: by a parameter's name or a table's above it, by "" at the top.
    """
    notes = comments or {}
    parts = [
        [*_comment(notes.get("")), *_lines(_top(round_), _beside_top(round_))],
        _table("goal", {"kind": round_.goal.kind, "question": round_.goal.question}, _GOALS[round_.goal.kind], notes),
        _table("job", _job(round_.job, round_), _ABOUT["job"], notes, _beside_job(round_)),
        _table("metric", _metric(round_), _ABOUT["metric"], notes),
        _table("budget", {"trials": round_.budget.trials, "hours": round_.budget.hours}, _budget(round_), notes),
        _table("seeds", {"gate": round_.seeds.gate, "adopt": round_.seeds.adopt}, _ABOUT["seeds"], notes),
        *_parameters(round_, notes),
        _unsaid(round_),
        _table("incumbent", dict(round_.incumbent), _ABOUT["incumbent"], notes),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _top(round_: Round) -> dict[str, Any]:
    return {
        "name": round_.name,
        "campaign": round_.campaign,
        "minimum_gain": round_.minimum_gain,
        "prune": round_.prune or None,
        "then": round_.then,
        "then_trials": round_.then_trials or None,
    }


def _beside_top(round_: Round) -> dict[str, str]:
    return {
        "campaign": "rounds that build on one another",
        "minimum_gain": f"the price of complexity: a smaller gain in {round_.metric.name} is no reason to change",
        "prune": "runs that are clearly behind end early",
        "then": "how the search goes on after the plain one ...",
        "then_trials": "... for so many trials of each arm",
    }


def _metric(round_: Round) -> dict[str, Any]:
    own = round_.job.function is not None
    better = round_.metric.higher_is_better if own else None
    return {"name": round_.metric.name, "higher_is_better": better, "at": round_.metric.at}


def _budget(round_: Round) -> str:
    told = "trials are of each arm" if round_.budget.trials is not None else "hours are in all, shared by the arms"
    return f"{_ABOUT['budget'].removesuffix('.')}: {told}."


def _job(job: RoundJob, round_: Round) -> dict[str, Any]:
    """What is fixed under [fixed] stands there alone."""
    elsewhere = {each.field for each in round_.parameters if each.said and each.role == "fixed" and each.under is None}
    recipe = {"model": job.model, "data": None if brings_data(job) else job.data}
    first = recipe if job.function is None else {"function": job.function}
    return {name: value for name, value in {**first, **job.values}.items() if name not in elsewhere}


def _beside_job(round_: Round) -> dict[str, str]:
    """What is open by each field that the job fixes, as its caveat says."""
    fixed = [each for each in round_.parameters if each.role == "fixed" and not each.said]
    return {each.field: each.caveat for each in fixed if each.caveat}


def _parameters(round_: Round, notes: Mapping[str, str]) -> Iterator[list[str]]:
    for role in ("target", "nuisance", "fixed"):
        said = [each for each in round_.parameters if each.role == role and _is_written(each, round_)]
        for place, parameter in enumerate(said):
            alone = role == "nuisance" and round_.target is None
            about = _comment(_TUNED_ALONE if alone else _ABOUT[role]) if place == 0 else []
            note = _comment(notes.get(parameter.name))
            name = f"[{role}.{toml_key(parameter.name)}]"
            yield [*about, *note, name, *toml_lines(_fields(parameter))]


def _is_written(parameter: Parameter, round_: Round) -> bool:
    """What was said, and what is no longer as a rule of thumb would have it."""
    return parameter.said or (
        parameter not in with_defaults(round_).parameters
        and not (parameter.role == "fixed" and parameter.field in _job(round_.job, round_))
    )


def _fields(parameter: Parameter) -> dict[str, Any]:
    fields: dict[str, Any] = {"sets": parameter.sets}
    if parameter.under is not None:
        fields["under"] = dict([parameter.under])
    if parameter.range is not None:
        found = parameter.range
        fields |= {"low": _number(found.low, found.integer), "high": _number(found.high, found.integer)}
        fields |= {"scale": found.scale, "integer": found.integer or None}
    return {**fields, "values": parameter.values or None, "value": parameter.value, "caveat": parameter.caveat}


def _number(value: float, is_whole: bool) -> float:
    return int(value) if is_whole else value


def _unsaid(round_: Round) -> list[str]:
    """What rules of thumb made a nuisance, for the reader alone."""
    found = [each for each in round_.searched if not each.said and not _is_written(each, round_)]
    lines = [_printable(f"#   {each.name}: {range_words(each)}; {rule_of(each.field).why}") for each in found]
    return [*_comment("Nuisances by rules of thumb, for nothing is said of them here:"), *lines] if lines else []


def range_words(parameter: Parameter) -> str:
    """`0.001 to 1, log`, or the values; and under which condition."""
    told = ", ".join(label_of(value) for value in parameter.values)
    if parameter.range is not None:
        found = parameter.range
        whole = ", whole numbers" if found.integer else ""
        told = f"{found.low:g} to {found.high:g}{', log' if found.scale == 'log' else ''}{whole}"
    elif parameter.value is not None:
        told = label_of(parameter.value)
    condition = "" if parameter.under is None else f" under {parameter.under[0]} = {label_of(parameter.under[1])}"
    return f"{told}{condition}"


def _table(
    name: str, values: Mapping[str, Any], about: str, notes: Mapping[str, str], beside: Mapping[str, str] | None = None
) -> list[str]:
    lines = _lines(values, beside or {})
    return [*_comment(about), *_comment(notes.get(name)), f"[{name}]", *lines] if lines else []


def _lines(values: Mapping[str, Any], beside: Mapping[str, str]) -> list[str]:
    return toml_lines(values, {name: _printable(text) for name, text in beside.items()})


def _comment(text: str | None) -> list[str]:
    return [f"# {_printable(line)}" for each in (text or "").splitlines() for line in wrap(each, _WIDTH)]


def _printable(text: str) -> str:
    """Comments end with their line, and have no control characters."""
    return "".join(each if each.isprintable() else " " for each in text)
