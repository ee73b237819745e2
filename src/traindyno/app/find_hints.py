"""What to type after a search: to prove its gain again, to give it more time, or to allow what would gain."""

import shlex
from pathlib import Path

import msgspec

from traindyno.analysis.find.attempts import NO_TIME
from traindyno.analysis.find.rounds import FEWEST_ROUNDS
from traindyno.analysis.find.unsettled import is_open
from traindyno.app.context import Context
from traindyno.app.find_objective import proving_command
from traindyno.app.study import Study
from traindyno.core.answers import FindAnswer
from traindyno.core.requests import FindRequest
from traindyno.report.reproduce import request_command

MORE = 2
"""So many times the rounds, and the time for them."""


def find_hint(
    study: Study, request: FindRequest, answer: FindAnswer, context: Context, settings_path: Path | None
) -> str | None:
    """The next command, if there is one that fits the answer."""
    toml = export_option(settings_path)
    if study.cut is not None:
        return f"{study.longer_command if study.cut == 'budget' else study.resume_command}{toml}"
    if (proof := proving_command(study, request, answer)) is not None:
        return proof
    if answer.recommended.changes:
        return _verify(study, request, context, settings_path)
    if any(attempt.outcome == NO_TIME for attempt in answer.attempts):
        return f"{study.longer_command}{toml}"
    if answer.objective == "throughput" and (allowed := _other_batch(study, request, answer)) is not None:
        return allowed
    return _more_rounds(study, request, answer)


def export_option(settings_path: Path | None) -> str:
    """What has a command write the settings file that this one was asked for."""
    return "" if settings_path is None else f" --export-toml {shlex.quote(str(settings_path))}"


def _verify(study: Study, request: FindRequest, context: Context, settings_path: Path | None) -> str:
    """How to prove a gain again, later or elsewhere."""
    model, asked = request.workload.model, study.workshop.asked
    own = ["--model", context.moved.get(model, model)] if request.workload.runs_user_code else []
    device = [] if asked.device == "auto" else ["--device", asked.device]
    runner = [] if asked.runner == "fork" else ["--runner", asked.runner]
    cluster = [] if asked.executor == "local" else ["--executor", asked.executor]
    cluster += [] if asked.address is None else ["--address", asked.address]
    file = f"{study.row.name}.toml" if settings_path is None else str(settings_path)
    command = f"{shlex.join(['traindyno', 'verify', file, *own, *device, *runner, *cluster])}{study.store_option}"
    if settings_path is not None:
        return command
    return f"{shlex.join(['traindyno', 'report', study.row.name, file])}{study.store_option} && {command}"


def _more_rounds(study: Study, request: FindRequest, answer: FindAnswer) -> str | None:
    """The same search with more rounds, where something looks faster and they did not show it."""
    if not any(is_open(found) for found in answer.finalists if found.learning_gain is None):
        return None
    repeats = MORE * max(request.repeats, FEWEST_ROUNDS)
    budget = study.workshop.asked.time_budget_seconds
    bench = msgspec.structs.replace(study.workshop.asked, time_budget_seconds=None if budget is None else MORE * budget)
    return f"{request_command(msgspec.structs.replace(request, bench=bench, repeats=repeats))}{study.store_option}"


def _other_batch(study: Study, request: FindRequest, answer: FindAnswer) -> str | None:
    """The same search, allowed to recommend the batch that alone was shown to be faster."""
    free, own = answer.with_free_batch, request.settings.batch_size
    if free is None or free.batch_size == own or free.speedup_ci95[0] <= 1.0:
        return None
    ends = (min(own, free.batch_size), max(own, free.batch_size))
    allowed = msgspec.structs.replace(request, bench=study.workshop.asked, batch_range=ends)
    return f"{request_command(allowed)}{study.store_option}"
