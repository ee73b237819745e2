"""What to type after a search: to prove its gain again, to give it more time, or to allow what would gain."""

import shlex
from pathlib import Path

import msgspec

from traindyno.analysis.find.attempts import NO_TIME
from traindyno.app.context import Context
from traindyno.app.find_objective import proving_command
from traindyno.app.study import Study
from traindyno.core.answers import FindAnswer
from traindyno.core.requests import FindRequest
from traindyno.report.reproduce import request_command


def find_hint(
    study: Study, request: FindRequest, answer: FindAnswer, context: Context, settings_path: Path | None
) -> str | None:
    """The next command, if there is one that fits the answer."""
    if study.cut is not None:
        return study.longer_command if study.cut == "budget" else study.resume_command
    if (proof := proving_command(study, request, answer)) is not None:
        return proof
    if answer.recommended.changes:
        return _verify(study, request, context, settings_path)
    if any(attempt.outcome == NO_TIME for attempt in answer.attempts):
        return study.longer_command
    return _other_batch(study, request, answer) if answer.objective == "throughput" else None


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


def _other_batch(study: Study, request: FindRequest, answer: FindAnswer) -> str | None:
    """The same search, allowed to recommend the batch that alone is faster."""
    free, own = answer.with_free_batch, request.settings.batch_size
    if free is None or free.batch_size == own:
        return None
    ends = (min(own, free.batch_size), max(own, free.batch_size))
    allowed = msgspec.structs.replace(request, bench=study.workshop.asked, batch_range=ends)
    return f"{request_command(allowed)}{study.store_option}"
