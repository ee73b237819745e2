"""Let batch normalisation train on a batch of one.

Where an example has a single value per channel left (after global pooling, or in inception's auxiliary head),
a batch of one has no variance and torch refuses it. Curves start at one, so there the running statistics are
used instead.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

_REFUSAL = "Expected more than 1 value per channel when training"


def refuses_single_values(error: BaseException) -> bool:
    """Whether torch refused to normalise a single value per channel."""
    return _REFUSAL in str(error)


def accept_single_values(model: nn.Module) -> bool:
    """Teach every batch normalisation of the model; false if none was left to teach."""
    strict = [
        module
        for module in model.modules()
        if isinstance(module, _BatchNorm) and not isinstance(module, _AcceptsSingleValues)
    ]
    accepting = {kind: _accepting(kind) for kind in {type(module) for module in strict}}
    for module in strict:
        module.__class__ = accepting[type(module)]
    return bool(strict)


class _AcceptsSingleValues:
    training: bool

    def forward(self, input: Tensor, *arguments: Any) -> Tensor:
        single = self.training and input.numel() == input.shape[1]
        if not single:
            return super().forward(input, *arguments)  # type: ignore[misc, no-any-return]
        self.training = False
        try:
            return super().forward(input, *arguments)  # type: ignore[misc, no-any-return]
        finally:
            self.training = True


def _accepting(kind: type[_BatchNorm]) -> type[_BatchNorm]:
    return type(kind.__name__, (_AcceptsSingleValues, kind), {"__module__": kind.__module__})
