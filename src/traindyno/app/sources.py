"""The fingerprint of a user's own file, by which a study knows whether its workload has changed."""

import hashlib
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.records import TrialSpec, WorkloadSpec, is_user_file

NamedAgain = tuple[tuple[str, str | None], ...]
"""Models that the user names on the command line now, each with the fingerprint of its file."""


def hash_source(model: str) -> str | None:
    """SHA-256 of the file in `path/to/file.py:function`, not of what it imports; None for known models."""
    if not is_user_file(model):
        return None
    path = Path(model[: model.rindex(".py") + len(".py")]).expanduser()
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(f"there is no file {path}", "give its path relative to the folder you are in") from None
    except PermissionError:
        raise UsageError(f"the file {path} cannot be read", "check its permissions") from None
    if not _function(model).removeprefix(":"):
        raise UsageError(f"{model} names a file but no function in it", f"write {model.removesuffix(':')}:FUNCTION")
    return hashlib.sha256(content).hexdigest()


def check_named_again(workload: WorkloadSpec, named_again: NamedAgain) -> None:
    """Code that a record names runs only if the user names the same code now."""
    if not workload.runs_user_code:
        return
    given = dict(named_again)
    if workload.model not in given:
        raise UsageError(
            f"this study runs code from {workload.model}, which must be named again",
            f"add --model {shlex.quote(workload.model)}",
        )
    if given[workload.model] != workload.source_sha256:
        raise UsageError(
            f"{workload.model} has changed since the study began",
            "begin a new study; trials of two versions cannot be mixed",
        )


def is_same_code(workload: WorkloadSpec, model: str, source_sha256: str | None) -> bool:
    """Whether `model` names the workload's own function, in the same file as then, wherever that lies now."""
    same_file = source_sha256 is not None and source_sha256 == workload.source_sha256
    return same_file and _function(model) == _function(workload.model)


def moved_code(workloads: Iterable[WorkloadSpec], named_again: NamedAgain) -> dict[str, str]:
    """Where code of the user's own lies now, by the name that it had; code that is not named now is refused."""
    moved: dict[str, str] = {}
    for workload in workloads:
        elsewhere = [model for model, source_sha256 in named_again if is_same_code(workload, model, source_sha256)]
        if elsewhere and workload.model not in elsewhere:
            moved[workload.model] = elsewhere[0]
        else:
            check_named_again(workload, named_again)
    return moved


def relocated(spec: TrialSpec, moved: Mapping[str, str]) -> TrialSpec:
    """The trial with its code where that lies now."""
    here = moved.get(spec.workload.model)
    if here is None:
        return spec
    return msgspec.structs.replace(spec, workload=msgspec.structs.replace(spec.workload, model=here))


def _function(model: str) -> str:
    """What stands after the file in `path/to/file.py:function`."""
    return model[model.rindex(".py") + len(".py") :] if is_user_file(model) else model
