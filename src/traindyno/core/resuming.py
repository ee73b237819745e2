"""What to type to go on with a study, or to prove a round."""

import shlex
from collections.abc import Mapping

from traindyno.core.records import is_user_file
from traindyno.core.requests import Request, workloads_of
from traindyno.core.round_space import gate_runs, incumbent_of
from traindyno.core.rounds import Round


def resume_command(name: str, request: Request, moved: Mapping[str, str] | None = None, *options: str) -> str:
    """The command, with code of the user's own named again; `moved` says where that lies now."""
    own = [workload.model for workload in workloads_of(request) if workload.runs_user_code]
    models = [word for model in own for word in ("--model", (moved or {}).get(model, model))]
    return shlex.join(["traindyno", "resume", name, *models, *options])


def adopt_command(
    round_: Round, *options: str, study: str | None = None, moved: Mapping[str, str] | None = None
) -> str:
    """The command that proves a round, with code of the user's own named again; `moved` says where that lies now.

    `study` is the round's, where it has another name.
    """
    own = own_code(round_)
    models = [] if own is None else ["--model", (moved or {}).get(own, own)]
    return shlex.join(["traindyno", "round", "adopt", study or round_.name, *options, *models])


def own_code(round_: Round) -> str | None:
    """The code of the user's own that a round's study runs, `file.py:function`; null where all of it is known."""
    job = round_.job
    choices = [each.values[0] for each in round_.parameters if each.field == "model" and each.values]
    usual = incumbent_of(round_).get("model") if gate_runs(round_) else next(iter(choices), None)
    model = f"{job.function or job.model or usual or ''}"
    return model if is_user_file(model) else None
