"""What to type to go on with a study."""

import shlex
from collections.abc import Mapping

from traindyno.core.requests import Request, workloads_of


def resume_command(name: str, request: Request, moved: Mapping[str, str] | None = None, *options: str) -> str:
    """The command, with code of the user's own named again; `moved` says where that lies now."""
    own = [workload.model for workload in workloads_of(request) if workload.runs_user_code]
    models = [word for model in own for word in ("--model", (moved or {}).get(model, model))]
    return shlex.join(["traindyno", "resume", name, *models, *options])
