"""Weights to begin with, from a local file: known by its content, so that a study can tell whether it changed."""

import hashlib
from pathlib import Path

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe

WRITTEN_BY_TORCH = (b"PK\x03\x04", b"\x80\x02")
"""How files of torch.save begin: an archive, or a pickle as torch wrote it before 1.6."""


def with_weights(recipe: Recipe) -> Recipe:
    """The recipe with the fingerprint of its weights; a file that cannot be one of weights is refused."""
    if recipe.weights is None:
        return recipe
    path = Path(recipe.weights).expanduser().absolute()
    return msgspec.structs.replace(recipe, weights=str(path), weights_sha256=_fingerprint(path))


def check_weights(recipe: Recipe) -> None:
    """Refuse to go on with other weights than the study began with."""
    if recipe.weights is not None and _fingerprint(Path(recipe.weights)) != recipe.weights_sha256:
        raise UsageError(
            f"the weights in {recipe.weights} have changed since the study began", "begin a new study with these"
        )


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if not file.read(4).startswith(WRITTEN_BY_TORCH):
                raise UsageError(
                    f"{path} holds no weights that torch.save wrote",
                    "write them with torch.save(model.state_dict(), path)",
                )
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"there is no file {path}", "check the path after --weights") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file of weights", "check the path after --weights") from None
    except PermissionError:
        raise UsageError(f"the file {path} cannot be read", "check its permissions") from None
