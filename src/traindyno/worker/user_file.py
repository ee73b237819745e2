"""A user's own job, from `path/to/file.py:function` to a `Workload`."""

import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.rounds import Value
from traindyno.worker.models.names import nearest
from traindyno.worker.user_arguments import check_arguments
from traindyno.worker.workload import Workload

EXAMPLE = "return traindyno.Workload(model=...) or a torch.nn.Module"


def load_workload(
    model: str, source_sha256: str | None = None, arguments: Mapping[str, Value] | None = None
) -> Workload:
    """Call the user's function with the arguments, as keywords; what their code raises passes through."""
    function = load_function(model, source_sha256)
    place, given = place_of(model), arguments or {}
    check_arguments(function, place, given.keys())
    made = function(**given)
    if isinstance(made, Workload):
        return made
    if isinstance(made, nn.Module):
        return Workload(made)
    raise TraindynoError(f"{place} returned {kind_of(made)}", EXAMPLE)


def load_function(model: str, source_sha256: str | None = None, example: str = EXAMPLE) -> Any:
    """Import the file, if it is still the one the study began with, and find the function in it."""
    path, name = split_path(model)
    _check_unchanged(path, source_sha256)
    return _function(import_file(path), path, name, example)


def place_of(model: str) -> str:
    """`own.py:workload`, as messages name a function."""
    path, name = split_path(model)
    return f"{path.name}:{name}"


def _check_unchanged(path: Path, source_sha256: str | None) -> None:
    if source_sha256 is None or not path.is_file():
        return
    if hashlib.sha256(path.read_bytes()).hexdigest() != source_sha256:
        raise TraindynoError(
            f"{path.name} has changed since the study began",
            "begin a new study; trials of two versions cannot be mixed",
        )


def build_model(workload: Workload) -> nn.Module:
    """The model itself, or what the function in its place returns."""
    model: Any = workload.model
    if not isinstance(model, nn.Module) and callable(model):
        model = model()
    if not isinstance(model, nn.Module):
        raise TraindynoError(
            f"the workload's model is {kind_of(model)}",
            "give Workload(model=...) a torch.nn.Module, or a function without arguments that returns one",
        )
    return model


def kind_of(value: object) -> str:
    """`an int`, `a list`, or `None`: what was given instead, with its article."""
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}"


def split_path(model: str) -> tuple[Path, str]:
    """`jobs/own.py:workload` as the file's absolute path and the function's name."""
    path, colon, name = model.rpartition(".py:")
    if not colon:
        raise UsageError(f"{model} names a file but no function in it", f"write {model}:FUNCTION")
    if not name.isidentifier():
        raise UsageError(f"{name!r} is not the name of a function", f"write {path}.py:FUNCTION")
    return Path(f"{path}.py").expanduser().resolve(), name


def import_file(path: Path) -> ModuleType:
    """Run the file as a module, with its folder first on the search path, as `python file.py` would."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}", "give its path relative to the folder you are in")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules else f"user_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a path that ends in .py has a loader"
    assert spec.loader is not None, "a path that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, path: Path, name: str, example: str) -> Any:
    found = getattr(module, name, None)
    if found is None:
        raise _missing(module, path, name, example)
    if isinstance(found, nn.Module | Workload) or not callable(found):
        raise TraindynoError(
            f"{path.name}:{name} is {kind_of(found)}, not a function",
            f"write def {name}(): {example}",
        )
    return found


def _missing(module: ModuleType, path: Path, name: str, example: str) -> UsageError:
    public = {key: value for key, value in vars(module).items() if callable(value) and not key.startswith("_")}
    own = [key for key, value in public.items() if getattr(value, "__module__", None) == module.__name__]
    functions = [key for key in own if isfunction(public[key])]
    likely = nearest(name, list(public)) or (functions or own or list(public))[:5]
    hint = f"it has {', '.join(likely)}" if likely else f"define it: def {name}(): {example}"
    return UsageError(f"{path.name} has no function {name!r}", hint)
