"""The tables of a round's file that are not hyperparameters: goal, job, metric, budget, seeds and what stands above."""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from traindyno.core.errors import UsageError
from traindyno.core.file_tables import checked_table
from traindyno.core.round_kinds import NOT_IN_ROUNDS, checked_value, field_kinds, is_known
from traindyno.core.rounds import Goal, GoalKind, RoundBudget, RoundJob, RoundMetric, Seeds
from traindyno.core.units import count_of

T = TypeVar("T")
TABLES = ("goal", "job", "metric", "budget", "seeds", "target", "nuisance", "fixed", "incumbent")
AT_TOP = {
    "name": str,
    "campaign": str,
    "minimum_gain": float,
    "prune": bool,
    "then": Literal["gp", "tpe"],
    "then_trials": int,
}
RECIPE_METRICS = {"accuracy": True, "loss": False}
"""Whether higher is better."""
LONGEST_NAME = 58
"""That of its proof has `.adopt` behind it, and a study's name has at most 64 characters."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ROLES = ("target", "nuisance", "fixed")


def home_of(name: str) -> str | None:
    """In which table a name stands, for one that was written into the wrong one."""
    homes = {**dict.fromkeys(("kind", "question"), "goal"), **dict.fromkeys(("trials", "hours"), "budget")}
    homes |= {**dict.fromkeys(("gate", "adopt"), "seeds"), **dict.fromkeys(("at", "higher_is_better"), "metric")}
    homes |= dict.fromkeys((*field_kinds(), "function"), "job")
    return homes.get(name)


def read_top(content: Mapping[str, Any], file_name: str) -> dict[str, Any]:
    """What stands above all tables, with the name taken from the file where none is given."""
    top = checked_table(content, AT_TOP, file_name, home_of, {"then_trials": 1})
    top.setdefault("name", PurePath(file_name).stem)
    check_round_name(top["name"], file_name)
    _check_name(top.get("campaign", "default"), "campaign", 64, file_name)
    if not 0 <= top.get("minimum_gain", 0.0) < math.inf:
        raise UsageError(f"{file_name}: a gain of {top['minimum_gain']} is none", "write minimum_gain = 0 or more")
    if "then" in top and "then_trials" not in top:
        raise UsageError(
            f'{file_name}: then = "{top["then"]}" does not say for how long', "add then_trials = 8, of each arm"
        )
    if "then_trials" in top and "then" not in top:
        raise UsageError(f"{file_name}: then_trials does not say how", 'add then = "gp" or "tpe"')
    return top


def check_round_name(name: str, file_name: str) -> None:
    _check_name(name, "round", LONGEST_NAME, file_name)


def read_goal(table: Mapping[str, Any], where: str) -> Goal:
    kinds = ", ".join(get_args(GoalKind))
    if "kind" not in table:
        raise UsageError(f"{where}: the goal has no kind", f'add kind = "helps" under [goal]; there are {kinds}')
    return _record(Goal, table, f"{where}, [goal]")


def read_job(table: Mapping[str, Any], where: str) -> RoundJob:
    """What is trained: the recipe's model and fields, or a function of the user's own with its arguments."""
    where = f"{where}, [job]"
    if "function" in table and "model" in table:
        raise UsageError(
            f"{where}: a job is a function of your own or a model for the recipe, not both",
            "leave function or model away",
        )
    if "function" in table:
        function = checked_table({"function": table["function"]}, {"function": str}, where, home_of)["function"]
        _check_function(function, where)
        values = {name: checked_value(name, each, where, True) for name, each in table.items() if name != "function"}
        return RoundJob(function=function, values=values)
    fields = {name: _job_value(name, value, where) for name, value in table.items()}
    both = {"model": fields.pop("model", None), "data": fields.pop("data", RoundJob().data)}
    if "epochs" in fields and "steps" in fields:
        raise UsageError(f"{where}: a run has one length, in epochs or in steps", "leave one of the two away")
    return RoundJob(**both, values=fields)


def read_metric(table: Mapping[str, Any], job: RoundJob, where: str) -> RoundMetric:
    """For the recipe the name says which way is better; for a job of the user's own the file must."""
    where = f"{where}, [metric]"
    metric: RoundMetric = _record(RoundMetric, table, where)
    known = RECIPE_METRICS.get(metric.name)
    if job.function is None and known is None:
        raise UsageError(
            f"{where}: the recipe does not tell {metric.name!r}", 'write name = "accuracy" or name = "loss"'
        )
    if job.function is not None and "name" not in table:
        raise UsageError(f"{where}: what your job is compared by is missing", 'add name = "accuracy" under [metric]')
    if known is None and "higher_is_better" not in table:
        raise UsageError(
            f"{where}: nobody knows whether more of {metric.name} is better", "add higher_is_better = true or false"
        )
    better = table.get("higher_is_better", known)
    if job.function is None and better is not known:
        raise UsageError(f"{where}: higher_is_better is {str(known).lower()} for {metric.name}", "leave it away")
    return RoundMetric(name=metric.name, higher_is_better=bool(better), at=metric.at)


def read_budget(table: Mapping[str, Any], where: str) -> RoundBudget:
    where = f"{where}, [budget]"
    budget: RoundBudget = _record(RoundBudget, table, where)
    if (budget.trials is None) == (budget.hours is None):
        told = "two budgets" if budget.trials is not None else "no budget"
        raise UsageError(f"{where}: the round has {told}", "write trials = 16, of each arm, or hours = 0.5, in all")
    if budget.trials is not None and budget.trials < 1:
        raise UsageError(f"{where}: {count_of(budget.trials, 'trial')} search nothing", "write trials = 1 or more")
    if budget.hours is not None and not 0 < budget.hours < math.inf:
        raise UsageError(f"{where}: {budget.hours} hours are no budget", "write hours = 0.5, or another above 0")
    return budget


def read_seeds(table: Mapping[str, Any], where: str) -> Seeds:
    where = f"{where}, [seeds]"
    seeds: Seeds = _record(Seeds, table, where)
    for name, least in (("gate", 1), ("adopt", 2)):
        if getattr(seeds, name) < least:
            raise UsageError(f"{where}: {name} cannot be {getattr(seeds, name)}", f"write {name} = {least} or more")
    return seeds


def _record(kind: Callable[..., T], table: Mapping[str, Any], where: str) -> T:
    return kind(**checked_table(table, get_type_hints(kind), where, home_of))


def _job_value(name: str, value: Any, where: str) -> Any:
    if name in NOT_IN_ROUNDS:
        raise UsageError(f"{where}: {name} cannot be set for a round", NOT_IN_ROUNDS[name])
    if is_known(name, is_own=False):
        return checked_value(name, value, where, is_own=False)
    if name in _ROLES:
        raise UsageError(f"{where}: [{name}] is a table of its own", f"write [{name}.NAME]")
    return checked_table({name: value}, {**field_kinds(), "function": str}, where, home_of)


def _check_function(function: str, where: str) -> None:
    path, colon, name = function.rpartition(":")
    if not (colon and path.endswith(".py") and name.isidentifier()):
        raise UsageError(f"{where}: {function!r} names no function", 'write function = "train.py:run"')


def _check_name(name: str, what: str, longest: int, where: str) -> None:
    if _NAME.fullmatch(name) is None or len(name) > longest:
        raise UsageError(
            f"{where}: {name!r} cannot be the name of a {what}",
            f"use at most {longest} letters, digits, dots, dashes, underscores; a letter or digit first",
        )
