"""A round as people write it: TOML with one table for each hyperparameter, under its role."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.file_tables import checked_tables
from traindyno.core.round_checks import check_question, check_round, checked_incumbent
from traindyno.core.round_conditions import check_conditions
from traindyno.core.round_defaults import job_optimizer, with_defaults
from traindyno.core.round_parameters import read_parameters
from traindyno.core.round_tables import (
    AT_TOP,
    TABLES,
    home_of,
    read_budget,
    read_goal,
    read_job,
    read_metric,
    read_seeds,
    read_top,
)
from traindyno.core.round_text import format_round
from traindyno.core.rounds import Parameter, Round, RoundJob

_TWICE = re.compile(r"declare \((.+)\) twice")
__all__ = ["format_round", "parse_round", "round_of"]


def parse_round(text: str, file_name: str) -> Round:
    """The round that a file describes, with what it leaves unsaid settled; `file_name` is for errors."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file_name} is not valid TOML: {error}", _toml_hint(str(error))) from None
    return round_of(content, file_name)


def round_of(content: Mapping[str, Any], file_name: str) -> Round:
    """The same from tables that were read already."""
    top = {key: value for key, value in content.items() if not isinstance(value, dict) and key not in TABLES}
    rest = {key: value for key, value in content.items() if key not in top}
    settled = read_top(top, file_name)
    tables = checked_tables(rest, TABLES, file_name, home_of, AT_TOP)
    goal = read_goal(tables["goal"], file_name)
    job = read_job(tables["job"], file_name)
    parameters = _parameters(tables, job, file_name)
    check_question(goal, parameters, file_name)
    check_conditions(parameters, job, file_name)
    said = Round(
        **settled,
        goal=goal,
        job=_with_fixed(job, parameters),
        parameters=parameters,
        metric=read_metric(tables["metric"], job, file_name),
        budget=read_budget(tables["budget"], file_name),
        seeds=read_seeds(tables["seeds"], file_name),
    )
    incumbent = checked_incumbent(tables["incumbent"], said, file_name)
    found = with_defaults(msgspec.structs.replace(said, incumbent=incumbent))
    check_round(found, file_name)
    return found


def _parameters(tables: Mapping[str, Mapping[str, Any]], job: RoundJob, file_name: str) -> tuple[Parameter, ...]:
    is_own = job.function is not None
    fixed = tables["fixed"].get("optimizer")
    optimizer = fixed.get("value") if isinstance(fixed, dict) else None
    return tuple(read_parameters(tables, file_name, is_own, str(optimizer or job_optimizer(job))))


def _with_fixed(job: RoundJob, parameters: tuple[Parameter, ...]) -> RoundJob:
    """What is fixed in every run is so in the job, unless the job says something else, which is an error later."""
    fixed = {each.field: each.value for each in parameters if each.role == "fixed" and each.under is None}
    values = {name: value for name, value in fixed.items() if name not in ("model", "data") or job.function}
    model = job.model if job.function is not None or job.model is not None else fixed.get("model")
    return msgspec.structs.replace(job, values={**values, **job.values}, model=model)


def _toml_hint(error: str) -> str:
    table = _TWICE.search(error)
    if table is not None and "," not in table[1].strip(","):
        return f"write all lines of [{table[1].strip(chr(39) + ',')}] under one heading"
    if table is not None:
        return (
            "two parameters need two names: [nuisance.sgd_momentum] and [nuisance.other_momentum], "
            'each with sets = "momentum" and its own under = { ... }'
        )
    if "overwrite" in error:
        return "a name stands twice in one table there: leave one of the two away"
    return 'write lines such as name = "depth", and texts in quotes'
