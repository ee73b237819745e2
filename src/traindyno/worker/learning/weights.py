"""Weights from a local file, to begin with instead of random ones."""

import hashlib
import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.worker.learning.heads import head_of

WRAPPINGS = ("model", "state_dict")
# What parallel training and torch.compile put before the names, either of them first.
PREFIXES = ("module.", "_orig_mod.")
MOST_NAMES = 3


def load_weights(model: nn.Module, recipe: Recipe) -> list[str]:
    """Put the recipe's weights into the model, if it names any; what to remark on them.

    A head that has another number of classes in the file stays as it is; all else must fit.
    """
    if recipe.weights is None:
        return []
    found = _state_in(_read(Path(recipe.weights), recipe.weights_sha256), recipe.weights)
    wanted = model.state_dict()
    head = _head_name(model)
    fresh = sorted(name for name in wanted if name in found and _other_classes(name, head, wanted[name], found[name]))
    _check_fit(recipe.weights, wanted, {name: value for name, value in found.items() if name not in fresh}, fresh)
    model.load_state_dict({name: wanted[name] if name in fresh else found[name] for name in wanted})
    if not fresh:
        return []
    layers = ", ".join(dict.fromkeys(name.rpartition(".")[0] for name in fresh))
    return [f"{recipe.weights} is for another number of classes, so what tells them apart begins fresh: {layers}."]


def _read(path: Path, sha256: str | None) -> Any:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the weights {path} cannot be read: {error.strerror}", "check --weights FILE") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise UsageError(
            f"the weights {path} are not those that the study began with",
            "put the first file back, or begin a new study with this one",
        )
    try:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise UsageError(
            f"{path} holds no weights that can be read without running code from it: {_first_line(error)}",
            "write the weights with torch.save(model.state_dict(), FILE)",
        ) from error


def _state_in(content: Any, name: str) -> dict[str, Tensor]:
    """The weights by name, taken out of what they were saved in, and without the prefixes of wrapped models."""
    for wrapping in WRAPPINGS:
        if isinstance(content, Mapping) and isinstance(content.get(wrapping), Mapping):
            content = content[wrapping]
            break
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise UsageError(f"{name} holds something else than weights", "save model.state_dict() with torch.save")
    return {_unwrapped(str(key)): value for key, value in content.items()}


def _unwrapped(name: str) -> str:
    while (prefix := next((each for each in PREFIXES if name.startswith(each)), None)) is not None:
        name = name.removeprefix(prefix)
    return name


def _head_name(model: nn.Module) -> str | None:
    try:
        return head_of(model)[0]
    except UsageError:
        return None


def _other_classes(name: str, head: str | None, wanted: Tensor, found: Tensor) -> bool:
    """Whether this is the last layer, or that of an auxiliary head, and differs in its number of outputs alone."""
    layer = name.rpartition(".")[0]
    last = layer == head or layer.lower().startswith("aux")
    return last and wanted.shape != found.shape and wanted.shape[1:] == found.shape[1:]


def _check_fit(file: str, wanted: Mapping[str, Tensor], found: Mapping[str, Tensor], fresh: list[str]) -> None:
    missing = [name for name in wanted if name not in found and name not in fresh]
    unexpected = [name for name in found if name not in wanted]
    other = [name for name in found if name in wanted and found[name].shape != wanted[name].shape]
    for names, what in (
        (missing, f"{file} lacks weights of this model"),
        (unexpected, f"{file} has weights that this model does not have"),
        (other, f"{file} has weights of another shape than this model"),
    ):
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            raise UsageError(
                f"{what}: {', '.join(names[:MOST_NAMES])}{more}", "use weights that were saved from the same model"
            )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
