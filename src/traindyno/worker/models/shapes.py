"""Whether a model takes images of a size, tried on shapes alone: no memory, no arithmetic."""

from collections.abc import Callable

import torch
from torch import nn

from traindyno.core.errors import UsageError


def check_images(name: str, construct: Callable[[], nn.Module], shape: tuple[int, int, int], usual_size: int) -> None:
    """Refuse a size that the model refuses; a model that cannot be tried this way is trusted."""
    try:
        with torch.device("meta"):
            construct()(torch.empty(2, *shape))
    except (RuntimeError, ValueError, AssertionError, TypeError) as error:
        if isinstance(error, NotImplementedError) or "meta tensor" in str(error):
            return
        raise UsageError(
            f"{name} cannot take images of {shape[1]} px: {error}",
            f"its usual size is {usual_size} px; leave --image-size away or choose one nearer to that",
        ) from error
